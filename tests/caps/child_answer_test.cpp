#include "caps/child_answer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace vt {
namespace {

TEST(ChildAnswer, ArrivesWholeHoweverLong) {
  const std::string sent(1 << 20, 'x');  // many times what a pipe holds
  Result<ChildAnswer> child = ChildAnswer::Start([&] { return sent; });
  ASSERT_TRUE(child.ok()) << child.status().message();
  std::string bytes;
  while (child->Read(bytes, -1)) continue;
  EXPECT_EQ(bytes.size(), sent.size());
  const int status = child->Wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ChildAnswer, ADeathIsSeen) {
  Result<ChildAnswer> child = ChildAnswer::Start([]() -> std::string {
    raise(SIGKILL);
    return "never";
  });
  ASSERT_TRUE(child.ok()) << child.status().message();
  std::string bytes;
  while (child->Read(bytes, -1)) continue;
  EXPECT_EQ(bytes, "");
  const int status = child->Wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

TEST(ChildAnswer, OneThatHangsEndsWithItsOwner) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    Result<ChildAnswer> child = ChildAnswer::Start([]() -> std::string {
      while (true) pause();
    });
    ASSERT_TRUE(child.ok()) << child.status().message();
    std::string bytes;
    EXPECT_TRUE(child->Read(bytes, 10));  // nothing came, more may
  }
  // The child held the writing end too: its reader sees the end when nobody has it any more.
  close(ends[1]);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

}  // namespace
}  // namespace vt
