#!/usr/bin/env python3
"""Writes tests/data/jinja_cases.json: template snippets and what Jinja2 makes of them.

Usage: scripts/make_jinja_cases.py > tests/data/jinja_cases.json   (needs the package jinja2)
Jinja2 is set up as Hugging Face transformers sets it up for chat templates.
"""
import datetime
import json
import sys

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_text")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _text(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[Generation, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


CONTEXT = {
    "a": 1, "b": 2.5, "s": "Hello World", "t": True, "f": False, "n": None, "e": "", "z": 0,
    "l": [3, 1, 2], "words": ["pear", "Apple", "fig", "apple"], "d": {"x": 1, "y": [1, 2], "z": None},
    "nested": {"a": {"b": {"c": "deep"}}, "list": [{"k": "v1"}, {"k": "v2"}]},
    "users": [{"name": "ann", "age": 30, "tags": ["x"]}, {"name": "Bob", "age": 25, "tags": []},
              {"name": "cid", "age": 30, "tags": ["y", "z"]}, {"name": "dee"}],
    "u": "naïve Straße Ωmega 日本 🙂", "multi": "line one\n  line two\n\nline four\n",
    "html": "<a href=\"x\">T&C's</a>", "big": 12345678901234567890, "neg": -7, "pi": 3.14159,
    "empty_list": [], "empty_dict": {}, "quote": "it's \"quoted\"", "spaces": "  padded\t\n ",
    "mixed": [1, "two", 3.0, None, True, [4], {"five": 5}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {
        "type": "object", "properties": {"p": {"type": "string", "enum": ["ä", "b"]}}}}}],
}

SNIPPETS = []


def add(*sources):
    SNIPPETS.extend(sources)


# Literals and printing.
add("{{ 1 }} {{ 1.0 }} {{ 1.5e3 }} {{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1_000 }}",
    "{{ 0x1f }} {{ 0b101 }} {{ 0o17 }} {{ 1_0.5_0 }} {{ 2e-3 }} {{ 123456789012345678901 }}",
    "{{ true }} {{ True }} {{ false }} {{ none }} {{ None }}",
    "{{ 'a' }}{{ \"b\" }}{{ 'c' 'd' \"e\" }}",
    "{{ 'tab\\tnl\\nq\\'\\x41\\u00e9\\U0001F642\\101\\q\\\\' }}",
    "{{ 'a\\\nb' }}", "{{ [1, 'a', 2.0, none, true, (1,), (), {'k': 'v'}] }}",
    "{{ (1, 2) }} {{ (1,) }} {{ () }} {{ 1, 2 }}", "{{ {'a': 1, 'b': {'c': [1]}, 2: 3, none: 4} }}",
    "{{ {} }} {{ [] }} {{ [1,] }} {{ {'a': 1,} }}", "{{ ['it\\'s', 'say \"hi\"', 'both \\' \"', '\\n\\t\\\\'] }}",
    "{{ ['é', '\\x00', '\\x7f', '\\u200b', '🙂', '\\xa0'] }}", "{{ mixed }}", "{{ d }} {{ users[0] }}",
    "{{ big }} {{ big + 1 }} {{ neg }}", "{{ 1.0 * 3 }} {{ 100000000000000000000.0 }} {{ 1/3 }} {{ 2/1 }}",
    "{{ 1e400 }} {{ -1e400 }}", "{{ 0.1 + 0.2 }} {{ 1e-7 }} {{ 123456.789e3 }}", "{{ }}", "{{ () }}{{ [] }}")

# Arithmetic.
add("{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }}",
    "{{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }} {{ -0.0 }}",
    "{{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 0.5 }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ (-2) ** 3 }}",
    "{{ 2 ** 100 }} {{ 10 ** 20 }}", "{{ true + true }} {{ true * 3 }} {{ +true }} {{ -true }} {{ true / 2 }}",
    "{{ 'ab' + 'cd' }} {{ 'ab' * 3 }} {{ 3 * 'ab' }} {{ 'ab' * -1 }} {{ [1] + [2] }} {{ [1] * 2 }} {{ (1,) + (2,) }}",
    "{{ 1 ~ 'a' ~ none ~ true ~ 1.5 ~ [1] }}", "{{ 'a' ~ 1 + 2 ~ 'b' }}", "{{ 1 - -1 }} {{ - - 1 }} {{ +1 }} {{ -a }}",
    "{{ 5 / 0 }}", "{{ 5 // 0 }}", "{{ 5 % 0 }}", "{{ 5.0 / 0 }}", "{{ 1 + 'a' }}", "{{ 'a' + 1 }}", "{{ [1] + (2,) }}",
    "{{ none + 1 }}", "{{ -'a' }}", "{{ {} + {} }}", "{{ missing + 1 }}", "{{ 1 - missing }}", "{{ 0 ** -1 }}",
    "{{ 10 ** 15 }} {{ 9007199254740993 + 0.0 }} {{ 9007199254740993 == 9007199254740992.0 }}",
    "{{ 1.5 + 1 }} {{ 3 - 0.5 }} {{ 2 * 1.5 }} {{ 7 / 2 }} {{ 8 / 2 }}")

# Comparison and logic.
add("{{ 1 < 2 }} {{ 1 == 1.0 }} {{ 1 == true }} {{ 'a' < 'b' }} {{ 'a' == \"a\" }} {{ 1 != 2 }}",
    "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 < 2 > 1 }} {{ 3 > 2 >= 2 == 2 }}", "{{ [1, 2] < [1, 3] }} {{ (1,) < (1, 0) }} {{ [1] == (1,) }}",
    "{{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1.0} }} {{ {} == [] }}", "{{ none == none }} {{ none == false }} {{ missing == other }} {{ missing == none }}",
    "{{ 'a' in 'abc' }} {{ 1 in [1, 2] }} {{ 'x' in d }} {{ 'q' not in d }} {{ 2 not in l }} {{ '' in 'abc' }}",
    "{{ 1 in missing }} {{ missing in [1] }} {{ 1.0 in [1] }} {{ none in mixed }}", "{{ 1 in 'abc' }}", "{{ 1 in 5 }}", "{{ 1 in none }}",
    "{{ [1] in {} }}", "{{ 1 < 'a' }}", "{{ none < 1 }}", "{{ {} < {} }}", "{{ missing < 1 }}", "{{ 1 < missing }}", "{{ [1] < [none] }}",
    "{{ 1 and 2 }} {{ 0 and 2 }} {{ 1 or 2 }} {{ 0 or '' }} {{ not 1 }} {{ not '' }} {{ not not 3 }}",
    "{{ '' or n or 'last' }} {{ s and a }}", "{{ not 1 == 2 }} {{ not (1 in l) }} {{ 1 if 0 or 1 and 0 else 2 }}",
    "{{ 'yes' if t else 'no' }} {{ 'yes' if f else 'no' }} {{ 'yes' if f }}|", "{{ 1 if f else 2 if f else 3 }}",
    "{{ ('a' if f).x }}", "{{ ('a' if f) is defined }}", "{{ [] and 1 }} {{ {} or 'd' }} {{ 0.0 or 'zero' }} {{ '0' and 'str' }}",
    "{{ 'B' < 'a' }} {{ 'a' < 'aa' }} {{ 'é' > 'z' }} {{ true < 2 }} {{ 1 <= 1.0 }}")

# Attributes, items, slices.
add("{{ d.x }} {{ d['x'] }} {{ d.y[1] }} {{ d.y.0 }} {{ nested.a.b.c }} {{ nested['list'][1].k }}",
    "{{ l[0] }} {{ l[-1] }} {{ s[0] }} {{ s[-1] }} {{ u[2] }} {{ u[-1] }} {{ (1, 2)[1] }}", "{{ l[9] }}|{{ s[99] }}|{{ d.q }}|{{ d['q'] }}|{{ l['a'] }}|",
    "{{ l[9].x }}", "{{ d.q.r }}", "{{ d['q']['r'] }}", "{{ missing.x }}", "{{ missing['x'] }}", "{{ missing[0] }}", "{{ s.nope.x }}", "{{ n.x }}|", "{{ n.x.y }}",
    "{{ l['a'].b }}", "{{ d[0].x }}", "{{ a.b.c }}", "{{ b.b.c }}", "{{ t.b.c }}", "{{ (1,).q.r }}", "{{ range(2).q.r }}", "{{ namespace().q.r }}", "{{ d.items.q.r }}",
    "{{ l[1:] }} {{ l[:1] }} {{ l[:-1] }} {{ l[::2] }} {{ l[::-1] }} {{ l[2:0:-1] }} {{ l[5:] }} {{ l[-2:] }} {{ l[:] }}",
    "{{ s[1:4] }}|{{ s[:-3] }}|{{ s[::-1] }}|{{ s[::3] }}|{{ s[-3:] }}|{{ u[3:9] }}|{{ u[::-1] }}|{{ s[9:2] }}|{{ s[100:] }}", "{{ (1, 2, 3)[1:] }} {{ range(10)[2:8:2] }} {{ range(10)[::-3] }}",
    "{{ l[none:2] }} {{ l[a:] }} {{ l[true:] }}", "{{ l['a':] }}", "{{ l[::0] }}", "{{ d[1:] }}", "{{ n[1:] }}", "{{ missing[1:] }}", "{{ a[1:] }}", "{{ l[1.0] }}|{{ l[true] }}",
    "{{ d[1] }}|{{ d[none] }}|{{ d[[1]] }}|", "{{ {1: 'one', 1.5: 'f', none: 'n', true: 't'} }}", "{{ {1: 'one'}[1.0] }} {{ {1: 'one'}[true] }} {{ {(1, 2): 'tup'}[(1, 2)] }}",
    "{{ {[1]: 2} }}", "{{ 'abc'[1][0] }}", "{{ {'items': 5}.items is callable }} {{ {'items': 5}['items'] }} {{ {}['keys'] is callable }}", "{{ {'get': 1}.get('get') }}",
    "{{ s['upper']() }}", "{{ d['get']('x') }}", "{{ l[0:1, 2] }}", "{{ d.__class__ }}|{{ s.__len__ is defined }}|{{ d._x }}|", "{{ d.__class__.x }}", "{{ s[:5:2] }}{{ s[1::4] }}")

# Undefined.
add("{{ missing }}|{{ missing is defined }}|{{ missing|default('d') }}|{{ missing|length }}|{{ missing|list }}|{{ missing|string }}|",
    "{% for x in missing %}x{% else %}none{% endfor %}", "{% if missing %}y{% else %}n{% endif %}", "{{ missing() }}", "{{ s.missing() }}", "{{ d.missing() }}", "{{ n() }}", "{{ a() }}", "{{ 'x'() }}",
    "{{ [missing] }} {{ [missing]|join(',') }}", "{{ missing ~ 'x' }}", "{{ missing|upper }}|{{ missing|trim }}|{{ missing|join }}|{{ missing|first }}|{{ missing|last }}|", "{{ missing|int }}", "{{ missing|float }}",
    "{{ missing|tojson }}", "{{ missing|abs }}", "{{ missing|round }}", "{{ -missing }}", "{{ missing * 2 }}", "{{ 'x' * missing }}", "{{ '%s' % missing }}|", "{{ missing|indent }}", "{{ missing|sum }}", "{{ missing|min }}|", "{{ missing|dictsort }}",
    "{{ missing|items|list }} {{ missing|map('upper')|list }} {{ missing|select|list }}", "{{ missing|replace('a', 'b') }}|{{ missing|reverse|list }}|{{ missing|sort }}|{{ missing|unique|list }}|", "{{ none|default('d') }}|{{ none|default('d', true) }}|{{ ''|d('e', boolean=true) }}|{{ ''|default }}|",
    "{{ users[3].age is defined }} {{ users[3].age|default(0) }}", "{{ d.q|default }}|", "{{ missing|batch(2)|list }}", "{{ missing == missing }} {{ missing != 1 }} {{ [missing] == [other] }}")

# Whitespace control.
add("  {% if true %}\n  yes\n  {% endif %}\n  end", "a\n{% if true %}\nb\n{% endif %}\nc\n", "a {%- if true -%} b {%- endif -%} c", "a\n  {%+ if true %}b{% endif %}", "a{% if true +%}\nb{% endif %}",
    "x  {{- 1 -}}  y", "x\n\n  {{- 1 -}}\n\n  y", "  {# comment #}\n  x", "a {#- c -#} b", "a\n{# c #}\nb", "{#+ c +#}\nx", "{% raw %}{{ x }}{% if %}{% endraw %}", "a {%- raw -%} {{ x }} {%- endraw -%} b", "  {% raw %}\n  keep {{ }}\n  {% endraw %}\nx",
    "{{ '{{' }} {{ '}}' }} {{ '%}' }}", "{{ {'a': {'b': 1}}['a']['b'] }}", "{{ {'a': {}} }}", "a\r\nb\rc\n", "trailing\n", "trailing\n\n", "\n{% if true %}x{% endif %}\n", "{% set x = 1 %}\n\n{{ x }}", "   {{ 1 }}", "\t{% if true %}\tx\n\t{% endif %}\ty",
    "{% if true %}{% endif %}   \n z", "a{% if true -%}   \n\n b{% endif %}", "{%if true%}x{%endif%}", "{{1}}{{'a'}}", "{%- for i in l -%}\n  {{ i }}\n{%- endfor -%}", "x {{- ' y ' -}} z", "{{-1}} {{- -1 }}", "a\n   {%- set q = 1 %}\n   b", "{ { } } {x} %} }} #}",
    "{% if true %} \n{% endif %}", "\n\n  {%- if true %}\n\n x {% endif -%} \n\n", "text {# {% if %} {{ x }} #} more", "a\u00a0{%- if true %}b{% endif %}", "{% raw -%}  x{% endraw %}", "{%- raw %} y {% endraw -%} \n z", "{{ 1 }}\n{{ 2 }}\n", "{% if true %}\r\nx\r\n{% endif %}")

# if, for, loop.
add("{% if z %}1{% elif n %}2{% elif t %}3{% else %}4{% endif %}", "{% if f %}1{% else %}{% if t %}2{% endif %}{% endif %}", "{% for i in l %}{{ i }},{% endfor %}", "{% for c in 'añ🙂' %}[{{ c }}]{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for i in [] %}x{% else %}empty{% endfor %}", "{% for i in l if i > 1 %}{{ i }}{% endfor %}", "{% for i in l if i > 9 %}{{ i }}{% else %}none{% endfor %}",
    "{% for i in l %}{{ loop.index }}/{{ loop.length }} {{ loop.index0 }} {{ loop.revindex }} {{ loop.revindex0 }} {{ loop.first }} {{ loop.last }};{% endfor %}", "{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }};{% endfor %}",
    "{% for i in l %}{{ loop.cycle('odd', 'even') }} {% endfor %}", "{% for i in [1, 1, 2, 2, 1] %}{{ loop.changed(i) }} {% endfor %}", "{% for i in l if i != 1 %}{{ loop.index }}:{{ loop.length }}:{{ loop.last }} {% endfor %}", "{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in [1] %}{% continue %}{% else %}E{% endfor %}", "{% for i in [1] %}{% break %}{% else %}E{% endfor %}", "{% for i in [1, 2] %}{% if i == 2 %}{% break %}{% endif %}{% else %}E{% endfor %}", "{% for a, b in [(1, 2), (3, 4)] %}{{ a + b }} {% endfor %}", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{% endfor %}", "{% for a, b in [(1,)] %}{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for a, b in ['xy', [1, 2]] %}{{ a }}{{ b }} {% endfor %}", "{% for i in 5 %}{% endfor %}", "{% for i in none %}{% endfor %}", "{% for i in true %}{% endfor %}",
    "{% for x in [[1, [2]], [3]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %}", "{% for x in [1] %}{{ loop([2]) }}{% endfor %}", "{% for i in l %}{% for j in l %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}", "{% for i in l %}{% set outer = loop %}{% for j in [1] %}{{ outer.index }}.{{ loop.index }} {% endfor %}{% endfor %}",
    "{% for i in range(3) %}{{ i }}{% endfor %} {% for i in range(1, 10, 3) %}{{ i }}{% endfor %} {% for i in range(5, 0, -2) %}{{ i }}{% endfor %}", "{% for i in range(100001) %}{% endfor %}", "{% for i in range(0) %}{% else %}e{% endfor %}", "{{ range(5) }} {{ range(1, 5) }} {{ range(0, 5, 2) }} {{ range(5)|length }}", "{{ range(1.5) }}", "{{ range(1, 2, 0) }}", "{{ range() }}",
    "{% for i in l %}{% if loop.first %}F{% elif loop.last %}L{% else %}M{% endif %}{% endfor %}", "{% set ns = namespace(found=false) %}{% for i in l if not ns.found %}{% set ns.found = true %}{{ i }}{% endfor %}", "{% for i in l|map('string') %}{{ loop.length }}{{ i }}{% endfor %}", "{% for i in l %}{{ loop }}{% endfor %}", "{% for loop in l %}{% endfor %}", "{% for i in l %}{% set loop = 1 %}{% endfor %}", "{{ loop is defined }}",
    "{% for i in 1, 2 %}{{ i }}{% endfor %}", "{% for i in l + [9] %}{{ i }}{% endfor %}", "{% for i in (l if t else []) %}{{ i }}{% endfor %}", "{% for u in users %}{{ u.name }}{% if not loop.last %}, {% endif %}{% endfor %}", "{% for u in users if u.age is defined and u.age > 26 %}{{ loop.index }}{{ u.name }}{% endfor %}", "{% for i in l %}{{ loop.foo }}|{% endfor %}", "{% for i in l %}{{ loop.foo.bar }}|{% endfor %}", "{% for i in [1,2,3] if loop is defined %}{{ i }}{% else %}no{% endfor %}")

# set, scoping, namespace.
add("{% set x = 1 %}{{ x }}{% set x = x + 1 %}{{ x }}", "{% set x, y = 1, 2 %}{{ x }}{{ y }}", "{% set x = 1, 2 %}{{ x }}", "{% set (x, y) = [3, 4] %}{{ x }}{{ y }}", "{% set x = 0 %}{% for i in l %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}", "{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
    "{% if t %}{% set q = 1 %}{% endif %}{{ q }}", "{% if f %}{% set q = 1 %}{% endif %}{{ q is defined }}", "{% if f %}{% set a = 5 %}{% endif %}{{ a }}", "{% for i in [1] %}{% set q = 1 %}{% endfor %}{{ q is defined }}", "{% for i in [1, 2] %}{% if loop.first %}{% set q = 7 %}{% endif %}{{ q }}|{% endfor %}",
    "{% for i in [1] %}{{ a }}{% endfor %}{% set a = 9 %}{{ a }}", "{% for i in [1] %}{{ a }}{% set a = 9 %}{{ a }}{% endfor %}{{ a }}", "{{ a }}{% for i in [1] %}{{ a }}{% endfor %}{% set a = 9 %}", "{% set a %}block {{ s }}{% endset %}[{{ a }}]", "{% set a | upper | replace('B', 'x') %}block{% endset %}[{{ a }}]", "{% set a %}{% set q = 1 %}{{ q }}{% endset %}{{ a }}{{ q is defined }}",
    "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}{{ ns }}", "{% set ns = namespace() %}{% set ns.a, ns.b = 1, 2 %}{{ ns.a + ns.b }}", "{% set d.x = 5 %}", "{% set missing.x = 5 %}", "{% set ns = namespace() %}{% set ns.t %}hi{% endset %}{{ ns.t }}", "{% set ns = namespace(l=[]) %}{% for i in range(3) %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.l }}",
    "{% with x = 1, y = 2 %}{{ x }}{{ y }}{% endwith %}{{ x is defined }}", "{% with a = 5, q = a %}{{ a }}{{ q }}{% endwith %}{{ a }}", "{% with %}{% set a = 3 %}{{ a }}{% endwith %}{{ a }}", "{% set x = missing %}{{ x is defined }}", "{% set 1 = 2 %}", "{% set none = 2 %}", "{% set x.y.z = 2 %}", "{% set [x] = [1] %}", "{% set x %}", "{% set x, y = 1 %}", "{% set x, y = 1, 2, 3 %}",
    "{% if t %}{% set v = 1 %}{% else %}{% set v = 2 %}{% endif %}{% for i in [1] %}{{ v }}{% set v = 3 %}{% endfor %}{{ v }}", "{% set x = 1 %}{% if t %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}{% endif %}", "{% for i in [1, 2] %}{% set y = y|default(0) + 1 %}{{ y }}{% endfor %}", "{% set ns = namespace(_p=1) %}{{ ns._p is defined }}", "{% set ns = namespace(n=none) %}{% set ns.n = ns %}{{ ns }}", "{% set x = x|default('first') %}{{ x }}", "{% filter upper %}{% set a = 5 %}a{{ a }}{% endfilter %}{{ a }}",
    "{% for x in l %}{% with y = x * 2 %}{{ y }}{% endwith %}{% endfor %}", "{% for a in [7] %}{{ a }}{% endfor %}{{ a }}", "{% set items = d.items() %}{% for k, v in items %}{{ k }}{% endfor %}{{ items|length }}")

# Macros, call, filter blocks, generation.
add("{% macro m(x, y=2) %}{{ x }}-{{ y }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(y=5, x=4) }}", "{% macro m(x) %}{{ x is defined }}{{ x }}{% endmacro %}{{ m() }}", "{% macro m(x) %}{{ x.y }}{% endmacro %}{{ m() }}", "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, k=3) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(q=2) }}",
    "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(3) }}", "{% macro m(b=c, c=1) %}{{ b }}|{{ c }}{% endmacro %}{{ m() }} {{ m(c=5) }}", "{% macro m(x) %}{{ caller() }}{{ x }}{% endmacro %}{% call m(1) %}body{% endcall %}", "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(p, q) m() %}{{ p }}{{ q }}{% endcall %}", "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}x{% endmacro %}{% call m() %}body{% endcall %}", "{% macro fact(n) %}{{ n if n < 2 else n * (fact(n - 1)|int) }}{% endmacro %}{{ fact(5) }}", "{{ late() }}{% macro late() %}x{% endmacro %}", "{% macro m() %}{{ later }}{% endmacro %}{% set later = 5 %}{{ m() }}", "{% macro m() %}{% set a = 99 %}{{ a }}{% endmacro %}{{ m() }}{{ a }}", "{% for i in l %}{{ m2(i) if m2 is defined }}{% endfor %}", "{% macro m(x) %}[{{ x }}]{% endmacro %}{% for i in l %}{{ m(i) }}{% endfor %}{{ l|map('string')|map('upper')|join }}",
    "{% macro m(x) -%}  {{ x }}  {%- endmacro %}[{{ m(1) }}]", "{{ m is defined }}{% macro m() %}{% endmacro %}{{ m is defined }} {{ m is callable }} {{ m }} {{ m.name }} {{ m.arguments }}", "{% macro m(a, b) %}{% endmacro %}{{ m.arguments }} {{ m.catch_kwargs }} {{ m.catch_varargs }} {{ m.caller }}", "{% filter upper %}abc {{ s }}{% endfilter %}", "{% filter replace('a', 'b')|upper %}banana{% endfilter %}", "{% filter indent(2) %}x\ny{% endfilter %}", "{% filter trim %}  x  {% endfilter %}",
    "{% generation %}text {{ s }}{% endgeneration %}", "{% generation %}{% set a = 5 %}{{ a }}{% endgeneration %}{{ a }}", "{%- generation -%}  x  {%- endgeneration -%}", "{% for i in l %}{% generation %}{{ i }}{% endgeneration %}{% endfor %}", "{% for i in l %}{% generation %}{% break %}{% endgeneration %}{% endfor %}", "{% macro outer() %}{% macro inner(x) %}<{{ x }}>{% endmacro %}{{ inner(1) }}{% endmacro %}{{ outer() }}", "{% macro a1() %}{{ b1() }}{% endmacro %}{% macro b1() %}B{% endmacro %}{{ a1() }}",
    "{% macro m(x, x) %}{% endmacro %}", "{% macro m(x=1, y) %}{% endmacro %}", "{% macro m(caller) %}{{ caller }}{% endmacro %}{{ m(1) }}", "{% macro m(*args) %}{% endmacro %}", "{% set args = [1, 2] %}{% set kw = {'c': 3} %}{% macro m(a, b, c) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(*args, **kw) }}", "{% macro m(a) %}{% if a > 0 %}{{ a }}{{ m(a - 1) }}{% endif %}{% endmacro %}{{ m(5) }}", "{% macro m() %}{{ m2() }}{% endmacro %}{{ m() }}", "{% macro r() %}{{ r() }}{% endmacro %}{{ r() }}", "{% call missing() %}{% endcall %}", "{% call d %}{% endcall %}",
    "{% macro m() %}{% for i in l %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% endfor %}{% endmacro %}{{ m() }}", "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(m(m(1))) }}", "{% set ns = namespace() %}{% macro m() %}{% set ns.v = 3 %}{% endmacro %}{{ m() }}{{ ns.v }}", "{% macro m(p) %}{{ p|upper if p is string else p|tojson }}{% endmacro %}{{ m('x') }}{{ m({'k': 1}) }}", "{% for i in [1] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}", "{% macro m(d, d2=d.x) %}{{ d2 }}{% endmacro %}{{ m({'x': 4}) }}")

# Text filters.
add("{{ s|upper }} {{ s|lower }} {{ 'hello world-foo (bar) [baz] {q} <z> o\\'neil'|title }} {{ 'hELLO wORLD'|capitalize }}", "{{ u|upper }} {{ u|lower }} {{ u|title }} {{ 'ß'|upper }} {{ 'ΣΑΣ'|lower }} {{ 'ǆ'|capitalize }}", "[{{ spaces|trim }}] [{{ 'xxaxx'|trim('x') }}] [{{ 5|trim }}]", "{{ 'aaa'|replace('a', 'b') }} {{ 'aaa'|replace('a', 'b', 2) }} {{ 'abc'|replace('', '-') }} {{ 123|replace(2, 'x') }}",
    "{{ multi|indent }}", "{{ multi|indent(2, true) }}", "{{ multi|indent(2, blank=true) }}", "{{ multi|indent('> ', first=true) }}", "{{ 'a\\r\\nb\\x0bc'|indent(1) }}", "{{ 5|indent }}", "{{ 'one two  three'|wordcount }} {{ u|wordcount }}", "{{ 'foo bar baz qux'|truncate(9) }} {{ 'foo bar baz qux'|truncate(9, true) }} {{ 'foo bar baz qux'|truncate(11) }} {{ 'foo bar baz qux'|truncate(9, false, '..', 0) }}", "[{{ 'x'|center(5) }}] [{{ 'xy'|center(5) }}] [{{ 'x'|center(4) }}]",
    "{{ html|e }} {{ html|escape }} {{ html|safe }} {{ html|e|e }} {{ html|forceescape }}", "{{ ('a'|safe) + '<' }} {{ '<' + ('a'|safe) }} {{ ('a'|safe) ~ '<' }} {{ 'x'|safe is escaped }} {{ 'x' is escaped }}", "{{ ['<'|safe] }} {{ '<'|e|upper }} {{ '%s'|safe % '<' }}", "{{ '%s and %d and %.2f and %5s|%-5s|%05d|%x' % ('a', 3, 2.5, 'r', 'l', 42, 255) }}", "{{ '%s'|format('x') }} {{ '%(k)s'|format(k=1) }} {{ '%s' % [1] }} {{ '%s' % {'a': 1} }} {{ '%%' % () }}", "{{ '%d' % 'x' }}", "{{ '%s %s' % ('a',) }}", "{{ '%s' % ('a', 'b') }}", "{{ '%q' % 1 }}", "{{ '%' % 1 }}", "{{ '%r %r' % ('q', 1.0) }} {{ '%+d % d %#x %#o' % (1, 2, 255, 8) }} {{ '%e %g %G' % (12345.678, 0.0000123, 1e20) }} {{ '%c%c' % ('x', 65) }} {{ '%.3s|%*d' % ('abcdef', 5, 3) }}",
    "{{ 'a b/c?d=é&x'|urlencode }} {{ {'a b': 'c/d', 'e': 1}|urlencode }} {{ [('x', 'y z')]|urlencode }}", "{{ 1.5|string }} {{ none|string }} {{ [1]|string }} {{ true|string|length }}", "{{ d|pprint }} {{ {'b': 1, 'a': 2}|pprint }} {{ 'x'|pprint }}", "{{ tools|pprint }}", "{{ ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'cccccccccccccccccccccc']|pprint }}", "{{ s|nosuchfilter }}", "{% if f %}{{ s|nosuchfilter }}{% endif %}ok", "{% if t %}{{ s|nosuchfilter }}{% endif %}", "{{ (s|nosuchfilter) if f else 'ok' }}", "{{ s is nosuchtest }}", "{% if f and s is nosuchtest %}{% endif %}ok", "{% for i in l if i is nosuchtest %}{% endfor %}", "{{ 'abc'|upper|lower|title|replace('A', 'x') }}", "{{ s|upper() }}", "{{ s|replace('o') }}", "{{ s|upper(1) }}", "{{ s|replace('o', 'x', foo=1) }}", "{{ s|length }} {{ u|length }} {{ d|length }} {{ l|count }}", "{{ 5|length }}", "{{ none|length }}")

# Numbers.
add("{{ '42'|int }} {{ '42.7'|int }} {{ 'x'|int }} {{ 'x'|int(5) }} {{ '0x1f'|int(0, 16) }} {{ '101'|int(base=2) }} {{ 3.9|int }} {{ -3.9|int }} {{ ' 7 '|int }} {{ none|int }} {{ true|int }} {{ '1_000'|int }} {{ []|int(9) }} {{ ''|int }}", "{{ '1.5'|float }} {{ 'x'|float }} {{ 'x'|float(2.5) }} {{ 3|float }} {{ '1e3'|float }} {{ 'inf'|float }} {{ 'nan'|float }} {{ none|float }} {{ ' 2 '|float }}", "{{ 42.55|round }} {{ 42.55|round(1) }} {{ 42.55|round(1, 'floor') }} {{ 42.55|round(1, 'ceil') }} {{ 2.5|round }} {{ 3.5|round }} {{ -2.5|round }} {{ 1234|round(-2) }} {{ 1250|round(-2) }} {{ 7|round }} {{ 2.675|round(2) }} {{ 1234.5|round(-2) }}", "{{ 42|round(0, 'floor') }} {{ 42.1|round(method='ceil') }}", "{{ 1.5|round(0, 'bad') }}", "{{ 'x'|round }}", "{{ -5|abs }} {{ (-5)|abs }} {{ -1.5|abs }} {{ neg|abs }}", "{{ 'a'|abs }}", "{{ [1, 2, 3.5]|sum }} {{ users[:3]|sum(attribute='age') }} {{ []|sum }} {{ [[1], [2]]|sum(start=[]) }} {{ l|sum(start=10) }}", "{{ ['a']|sum }}", "{{ l|min }} {{ l|max }} {{ words|min }} {{ words|max }} {{ []|min }}| {{ words|max(case_sensitive=true) }} {{ users[:3]|max(attribute='age') }}", "{{ [1, 'a']|max }}", "{{ '99999999999999999999999'|int }}", "{{ (10 ** 10) ** 3 }}", "{{ 5 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(4) }}", "{{ 1.0|string }} {{ 1e100 }} {{ 5e-324 }} {{ 1.7976931348623157e308 }}", "{{ 'a' is odd }}")

# Sequence filters.
add("{{ l|sort }} {{ l|sort(reverse=true) }} {{ words|sort }} {{ words|sort(case_sensitive=true) }} {{ words|sort(true) }}", "{{ users[:3]|sort(attribute='age')|map(attribute='name')|list }} {{ users[:3]|sort(attribute='age,name')|map(attribute='name')|list }} {{ users[:3]|sort(attribute='age', reverse=true)|map(attribute='name')|list }}", "{{ [1, 'a']|sort }}", "{{ users|sort(attribute='age') }}", "{{ users|sort(attribute='nope')|length }}", "{{ [3, none]|sort }}", "{{ d|sort }} {{ 'hello'|sort }}", "{{ d|dictsort }} {{ {'b': 1, 'A': 2}|dictsort }} {{ {'b': 1, 'A': 2}|dictsort(true) }} {{ {'b': 1, 'A': 2}|dictsort(by='value') }} {{ {'b': 1, 'A': 2}|dictsort(reverse=true) }}", "{{ {'a': 1}|dictsort(by='q') }}", "{{ l|dictsort }}",
    "{{ l|first }} {{ l|last }} {{ 'abc'|first }} {{ 'abc'|last }} {{ []|first }}|{{ []|last }}|{{ d|first }} {{ d|last }} {{ d.items()|first }}", "{{ []|first is defined }} {{ ([]|first).x }}", "{{ l|map('string')|last }}", "{{ l|join(',') }} {{ l|join }} {{ 'abc'|join('-') }} {{ users|join(', ', attribute='name') }} {{ mixed|join('|') }} {{ d|join }} {{ l|join(1) }}", "{{ 5|join }}", "{{ l|list }} {{ 'abc'|list }} {{ d|list }} {{ d.items()|list }} {{ range(3)|list }}", "{{ 5|list }}", "{{ l|reverse|list }} {{ 'abc'|reverse }} {{ d|reverse|list }} {{ (1, 2)|reverse|list }} {{ d.items()|reverse|list }}", "{{ 5|reverse }}",
    "{{ [1, 2, 1, 3, 2]|unique|list }} {{ words|unique|list }} {{ words|unique(true)|list }} {{ users|unique(attribute='age')|map(attribute='name')|list }}", "{{ [[1]]|unique|list }}", "{{ range(7)|batch(3)|list }} {{ range(7)|batch(3, 'x')|list }}", "{{ range(7)|slice(3)|list }} {{ range(7)|slice(3, 'x')|list }} {{ []|slice(2)|list }}", "{{ range(3)|slice(0)|list }}", "{% for g in users|groupby('age', default=0) %}{{ g.grouper }}:{% for u in g.list %}{{ u.name }} {% endfor %};{% endfor %}", "{% for age, us in users[:3]|groupby('age') %}{{ age }}{{ us|length }};{% endfor %}", "{{ ['b', 'A', 'a']|groupby(0) }}", "{{ users|groupby('age') }}", "{{ [{'k': 1, 'v': 2}]|groupby('k') }}",
    "{{ users|map(attribute='name')|list }} {{ users|map(attribute='age', default='?')|list }} {{ users|map(attribute='tags.0', default='-')|list }} {{ words|map('upper')|join(' ') }} {{ l|map('string')|list }} {{ words|map('replace', 'p', 'q')|list }} {{ [' a ']|map('trim')|list }}", "{{ l|map('nosuch')|list }}", "{{ l|map|list }}", "{{ l|map(attribute='x', foo=1)|list }}", "{{ [0, 1, '', 'a', none]|select|list }} {{ l|select('odd')|list }} {{ l|select('gt', 1)|list }} {{ l|reject('odd')|list }} {{ l|select('in', [1, 2])|list }} {{ [0, 1]|reject|list }} {{ l|select('==', 2)|list }} {{ l|select('>=', 2)|list }}", "{{ users|selectattr('age')|list|length }} {{ users|selectattr('age', 'equalto', 30)|map(attribute='name')|list }} {{ users|rejectattr('age', 'defined')|map(attribute='name')|list }} {{ users|selectattr('tags', 'defined')|selectattr('tags')|map(attribute='name')|list }} {{ users|selectattr('name', 'in', ['ann', 'dee'])|list|length }} {{ users|rejectattr('age')|list }}", "{{ l|select('nosuch')|list }}", "{{ users|selectattr|list }}", "{{ nested.list|selectattr('k', 'eq', 'v2')|first }} {{ nested|map(attribute='x')|list }}", "{{ l|map('upper')|length }}", "{% set g = l|map('string') %}{{ g|join }}{{ g|join }}", "{% set g = l|select %}{{ g|first }}{{ g|list }}", "{{ l|select is iterable }} {{ l|select is sequence }} {{ (l|select)[0] is defined }}", "{{ l|map('string')|tojson }}", "{% set g = [1, 2, 3]|select %}{% for x in g %}{{ x }}{% break %}{% endfor %}{{ g|list }}", "{{ 2 in (l|select) }}",
    "{{ d|items|list }} {{ empty_dict|items|list }}", "{{ l|items|list }}", "{{ d|attr('x') is defined }} {{ d|attr('items') is callable }} {{ s|attr('upper')() }}", "{{ l|batch(2)|map('join', '-')|list }}", "{{ users|map(attribute='name')|map('upper')|sort|join(',') }}", "{{ l|sort|reverse|first }}", "{{ [[2, 'b'], [1, 'a']]|sort(attribute=0) }} {{ [[2, 'b'], [1, 'a']]|map(attribute=1)|list }} {{ [[1, 2], [3]]|map('first')|list }} {{ [[1, 2], [3]]|map('length')|list }}")

# tojson.
add("{{ d|tojson }} {{ mixed|tojson }} {{ u|tojson }} {{ html|tojson }} {{ quote|tojson }}", "{{ '\\x00\\x1f\\x7f\\n\\t\\r\\b\\f/\\\\\"'|tojson }}", "{{ d|tojson(indent=2) }}", "{{ nested|tojson(indent=4) }}", "{{ [[], {}, [1], {'a': []}]|tojson(indent=1) }}", "{{ d|tojson(indent='\\t') }}", "{{ d|tojson(indent=0) }}", "{{ {'b': 1, 'a': {'d': 1, 'c': 2}}|tojson(sort_keys=true) }}", "{{ u|tojson(ensure_ascii=true) }} {{ u|tojson(true) }}", "{{ d|tojson(separators=(',', ':')) }} {{ d|tojson(separators=[',', ':'], indent=2) }}", "{{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }}", "{{ {(1,): 2}|tojson }}", "{{ (1, 2)|tojson }} {{ 1.0|tojson }} {{ 1e100|tojson }} {{ none|tojson }} {{ true|tojson }}", "{{ range(3)|tojson }}", "{{ namespace()|tojson }}", "{{ d.items()|tojson }}", "{{ d.missing|tojson }}", "{{ ('inf'|float)|tojson }} {{ ('-inf'|float)|tojson }} {{ ('nan'|float)|tojson }}", "{{ tools|tojson }}", "{{ tools[0]|tojson(indent=4) }}", "{{ {1: 1, 'a': 2}|tojson(sort_keys=true) }}", "{{ big|tojson }} {{ 'x'|safe|tojson }}", "{% for t in tools %}{{ t.function|tojson(indent=2)|indent(4) }}{% endfor %}", "{{ d|tojson|length }} {{ d|tojson|safe }}")

# Tests.
add("{% for v in [1, 1.5, 'x', none, true, [1], (1,), {'a': 1}, missing, range(2)] %}{{ v is defined }},{{ v is none }},{{ v is string }},{{ v is number }},{{ v is integer }},{{ v is float }},{{ v is boolean }},{{ v is true }},{{ v is false }},{{ v is mapping }},{{ v is iterable }},{{ v is sequence }},{{ v is callable }};{% endfor %}", "{{ 1 is sameas 1 }} {{ none is sameas none }} {{ true is sameas(1) }} {{ [] is sameas [] }} {{ d is sameas d }}", "{{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 2 is ge 2 }} {{ 1 is in [1] }} {{ 'a' is in 'abc' }} {{ 1 is not in [2] }} {{ 3 is greaterthan 2 }} {{ 3 is lessthan 2 }} {{ 1 is equalto 1 }}", "{{ 'abc' is lower }} {{ 'ABC' is upper }} {{ 'Abc' is lower }} {{ '123' is upper }} {{ 'é' is lower }}", "{{ 1 is not none }} {{ not 1 is none }} {{ 1 is not defined }}", "{{ 'upper' is filter }} {{ 'nope' is filter }} {{ 'odd' is test }} {{ 'nope' is test }}", "{{ 1 is defined is defined }}", "{{ a is divisibleby }}", "{{ a is defined and b is defined or c is defined }}", "{{ 'a' if a is defined else 'b' }}", "{{ a is defined if t }}", "{{ (a is string) or (s is string) }} {{ a is string or s is string }}", "{{ d.x is number and d.y is iterable and d.y is not string }}", "{{ a is divisibleby 1 + 1 }}", "{{ -1 is number }} {{ a + 1 is number }} {{ s|upper is upper }}", "{{ 1 is string is not }}", "{{ namespace is callable }} {{ namespace() is mapping }} {{ namespace() is iterable }} {{ cycler(1) is callable }} {{ joiner() is callable }}", "{{ d.keys() is sequence }} {{ d.keys() is iterable }} {{ d.items() is mapping }}")

# str methods.
add("{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ 'they\\'re bill\\'s'.title() }} {{ s.swapcase() }} {{ 'abc def'.capitalize() }} {{ u.upper() }} {{ u.casefold() }} {{ 'ΣςſK'.casefold() }}", "[{{ spaces.strip() }}] [{{ spaces.lstrip() }}] [{{ spaces.rstrip() }}] [{{ 'xyxaxy'.strip('xy') }}] [{{ 'xyxaxy'.lstrip('xy') }}] [{{ 'xyxaxy'.rstrip('yx') }}] [{{ '\\u3000a\\u00a0'.strip() }}] [{{ 'éaé'.strip('é') }}] [{{ ' a '.strip(none) }}]", "{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a b c'.split(none, 1) }} {{ 'abc'.split('x') }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a, b'.split(', ') }} {{ 'a b  c '.split(maxsplit=1) }} {{ ' a b '.split(' ') }}", "{{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b c '.rsplit(none, 1) }} {{ 'a b c'.rsplit() }} {{ 'a,b'.rsplit(',', 0) }}", "{{ 'a'.split('') }}", "{{ 'a\\nb\\r\\nc\\x0bd\\u2028e\\n'.splitlines() }} {{ 'a\\nb\\n'.splitlines(true) }} {{ ''.splitlines() }} {{ 'a\\n\\nb'.splitlines(keepends=true) }}", "{{ s.startswith('Hell') }} {{ s.endswith('ld') }} {{ s.startswith(('x', 'H')) }} {{ s.endswith(()) }} {{ s.startswith('World', 6) }} {{ s.startswith('') }} {{ s.endswith('Wor', 0, 9) }} {{ ''.startswith('', 1) }}", "{{ s.startswith(1) }}", "{{ s.startswith(['H']) }}", "{{ s.find('o') }} {{ s.rfind('o') }} {{ s.find('x') }} {{ s.index('W') }} {{ s.find('o', 5) }} {{ u.find('日') }} {{ s.count('l') }} {{ 'aaaa'.count('aa') }} {{ 'abc'.count('') }} {{ s.find('') }} {{ ''.find('', 1) }} {{ s.rindex('l') }}", "{{ s.index('x') }}", "{{ 'aXbX'.replace('X', '-') }} {{ 'aXbX'.replace('X', '-', 1) }} {{ 'abc'.replace('', '.') }} {{ 'abc'.replace('', '.', 2) }}", "{{ 'abc'.replace(1, 2) }}", "{{ '-'.join(['a', 'b']) }} {{ ','.join('abc') }} {{ ''.join([]) }} {{ '-'.join(d) }} {{ ','.join(words|map('upper')) }}", "{{ '-'.join([1]) }}", "{{ '-'.join(5) }}",
    "{{ 'x{}y{}'.format(1, 'a') }} {{ '{0}{1}{0}'.format('a', 'b') }} {{ '{k}'.format(k=5) }} {{ '{0.x} {0[y]}'.format(d) }} {{ '{{}}'.format() }} {{ '{!r}'.format('q') }} {{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd') }}", "{{ '{:5d}|{:05d}|{:+d}|{:x}|{:#x}|{:b}|{:,}|{:_}'.format(42, 42, 42, 255, 255, 5, 1234567, 1234567) }}", "{{ '{:.2f}|{:8.3f}|{:e}|{:g}|{:%}|{:.1%}|{:,.2f}|{}'.format(3.14159, 2.5, 12345.678, 0.00001, 0.5, 0.256, 1234567.891, 1.0) }}", "{{ '{:.3}|{:.3s}|{:10}|{:>{w}}'.format('abcdef', 'xyz123', 'p', 'q', w=4) }} {{ '{:.3}'.format(3.14159) }} {{ '{:n}'.format(5) }} {{ '{:.0f}'.format(2.5) }} {{ '{:10}|'.format(3) }}", "{{ '{}'.format() }}", "{{ '{k}'.format() }}", "{{ '{'.format() }}", "{{ '}'.format() }}", "{{ '{:d}'.format('x') }}", "{{ '{:5}'.format([1]) }}", "{{ '{:q}'.format(1) }}", "{{ '{} {0}'.format(1) }}", "{{ '{}'.format(none) }} {{ '{}'.format([1, 'a']) }} {{ '{:s}'.format('a') }} {{ '{:5}'.format(true) }}", "{{ '{k} {j}'.format_map({'k': 1, 'j': 2}) }}",
    "{{ 'abc'.isalpha() }} {{ 'ab1'.isalnum() }} {{ '12'.isdigit() }} {{ '²'.isdigit() }} {{ '²'.isdecimal() }} {{ '½'.isnumeric() }} {{ ' \\t'.isspace() }} {{ 'ABC'.isupper() }} {{ 'abc1'.islower() }} {{ 'Abc Def'.istitle() }} {{ ''.isalpha() }} {{ 'é'.isalpha() }} {{ 'a b'.isidentifier() }} {{ 'a_1'.isidentifier() }} {{ 'é'.isascii() }} {{ 'a\\n'.isprintable() }}", "{{ 'test.py'.removesuffix('.py') }} {{ 'test.py'.removeprefix('te') }} {{ 'x'.removeprefix('y') }} {{ 'x'.removesuffix('') }}", "{{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('=') }} {{ 'abc'.rpartition('=') }}", "[{{ 'a'.ljust(3) }}] [{{ 'a'.rjust(3, '*') }}] [{{ 'a'.center(4) }}] [{{ 'ab'.center(5) }}] [{{ '-5'.zfill(4) }}] [{{ '5'.zfill(3) }}] [{{ 'a\\tb'.expandtabs(4) }}]", "{{ 'abc'.nosuch() }}", "{{ 'abc'.upper(1) }}", "{{ 'a'.center('x') }}", "{{ s.split(' ')[0].lower() }} {{ s.split(' ')|last }} {{ '<think>x</think>y'.split('</think>')[-1].lstrip('\\n') }}", "{{ s.upper is callable }}", "{{ ('a'.join)(['x', 'y']) }}", "{{ 'K'.lower() }} {{ 'İ'.lower()|length }} {{ 'ﬁ'.upper() }} {{ 'ŉ'.title() }}")

# list, dict methods and the sandbox.
add("{{ d.get('x') }} {{ d.get('q') }} {{ d.get('q', 5) }} {{ d.get('z', 5) }}", "{{ d.keys() }} {{ d.values() }} {{ d.items() }} {{ d.keys()|list }} {{ d.copy() }}", "{{ d.keys()[0] is defined }}", "{{ d.get() }}", "{{ d.get([1]) }}", "{{ l.index(1) }} {{ l.count(3) }} {{ (1, 2, 1).count(1) }} {{ l.copy() }} {{ (1, 2).index(2) }}", "{{ l.index(99) }}", "{{ l.append(4) }}", "{% set x = [] %}{% set _ = x.append(1) %}{{ x }}", "{{ d.update({'q': 1}) }}", "{{ d.pop('x') }}", "{{ d.setdefault('q', 1) }}", "{{ d.clear() }}", "{{ l.sort() }}", "{{ l.extend([1]) }}", "{{ l.insert(0, 1) }}", "{{ l.remove(1) }}", "{{ l.reverse() }}", "{{ l.pop() }}", "{{ d.popitem() }}", "{{ l.append is defined }} {{ d.update is defined }} {{ d.get is defined }}", "{{ {'a': 1, 'b': 2}.items()|map('first')|list }}", "{{ d.nosuch() }}", "{{ {'f': 5}.f() }}", "{{ 'x' in d.keys() }} {{ 1 in d.values() }} {{ ('x', 1) in d.items() }} {{ d.keys()|length }}", "{% for x in d.values() %}{{ x }};{% endfor %}", "{{ dict(a=1, b=2) }} {{ dict({'x': 1}, y=2) }} {{ dict([('a', 1), ['b', 2]]) }} {{ dict() }}", "{{ dict(5) }}", "{{ dict([1]) }}", "{{ dict([(1, 2, 3)]) }}", "{{ dict(**{'k': 1}) }} {{ dict(d, **{'x': 9}) }}")

# Globals.
add("{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set _ = c.reset() %}{{ c.next() }}", "{{ cycler() }}", "{% set j = joiner('|') %}{% for i in l %}{{ j() }}{{ i }}{% endfor %} {% set k = joiner() %}{{ k() }}x{{ k() }}y", "{{ raise_exception('went wrong') }}", "{% if t %}{{ raise_exception('in ' ~ s) }}{% endif %}", "{% if f %}{{ raise_exception('no') }}{% endif %}fine", "{{ raise_exception() }}", "{{ strftime_now('%Y-%m-%d') }} {{ strftime_now('%d %b %Y %H:%M:%S %A %B %a %j %y %p %I %%') }} {{ strftime_now('') }}|{{ strftime_now('%-d') }}|{{ strftime_now('%z%Z') }}|{{ strftime_now('%f') }}|{{ strftime_now('%F %T %e') }}", "{{ strftime_now() }}", "{{ strftime_now(5) }}", "{{ namespace(5) }}", "{{ nosuch is defined }}", "{% set range = 5 %}{{ range }}", "{% set dict = {'a': 1} %}{{ dict.a }}", "{{ range is defined }} {{ dict is callable }}", "{{ range(3)[1] }} {{ range(3)|last }} {{ 2 in range(3) }} {{ range(3) == range(0, 3) }} {{ range(3) == [0, 1, 2] }} {{ range(5).start }}{{ range(5).stop }}{{ range(5).step }}")

# Syntax errors.
add("{{ 1 + }}", "{{ (1 }}", "{{ 1) }}", "{{ [1, }}", "{{ {'a' 1} }}", "{{ 'abc }}", "{{ a b }}", "{% if %}{% endif %}", "{% if a %}", "{% endif %}", "{% for %}{% endfor %}", "{% for x %}{% endfor %}", "{% for x in %}{% endfor %}", "{% for x in l %}", "{% else %}", "{% nosuch %}", "{% set %}", "{% set x = %}", "{{ x", "{% if x", "{# open", "{% raw %} open", "{{ a. }}", "{{ a.'x' }}", "{{ a| }}", "{{ a is }}", "{{ f(a=1, 2) }}", "{{ f(**a, *b) }}", "{{ f(a=1, a=2) }}", "{{ f(,) }}", "{{ a ! b }}", "{{ a $ b }}", "{{ a = b }}", "{{ a && b }}", "{{ not }}", "{{ a if }}", "{% macro %}{% endmacro %}", "{% macro m %}{% endmacro %}", "{% macro m( %}{% endmacro %}", "{% call %}{% endcall %}", "{% filter %}{% endfilter %}", "{% with x %}{% endwith %}", "{% break %}", "{% continue %}", "{% do x %}", "{% if t %}{% endfor %}", "{% for i in l %}{% endif %}", "{{ '\\x1' }}", "{{ '\\u12' }}", "{{ a[ }}", "{{ a[1:2:3:4] }}", "{{ {1, 2} }}", "{{ [x for x in l] }}", "{{ lambda: 1 }}", "{% %}", "{{ a ? b : c }}", "{{ 1.foo.bar }}", "{{ a not b }}", "{{ a in }}", "{{ a == }}", "{{ ** a }}", "{% if a = 1 %}{% endif %}", "{% set a + b = 1 %}", "{% elif a %}", "{% endfor %}", "{% if a %}{% else %}{% else %}{% endif %}", "{% 1 %}", "{{ \"a' }}", "{% print 1, 2 %}", "{% for i in l recursive if i %}{% endfor %}", "{{ 1 ~ }}", "{{ ~1 }}", "{{ a . b }}{{ d . x }}", "{{ d .x }}{{ l [0] }}{{ s .upper () }}", "{{ s|upper|}}", "{{ -}}", "{{+1}}{{ +1 }}", "{% if a: %}x{% endif %}", "{% set x: %}y{% endset %}")

# The idioms of real chat templates.
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi <b>\"you\"</b>"},
            {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello", "tool_calls": [
                {"function": {"name": "f", "arguments": {"x": 1, "y": "é"}}}]},
            {"role": "tool", "content": "42"}, {"role": "user", "content": [
                {"type": "text", "text": "look"}, {"type": "image"}]}]
CONTEXT["messages"] = MESSAGES
CONTEXT["add_generation_prompt"] = True
add("{% for m in messages %}<|{{ m['role'] }}|>{% if m.content is string %}{{ m.content|trim }}{% else %}{% for c in m.content %}{% if c.type == 'text' %}{{ c.text }}{% else %}<img>{% endif %}{% endfor %}{% endif %}<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
    "{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set loop_messages = messages %}{%- endif %}{{ system }}|{{ loop_messages|length }}",
    "{% set ns = namespace(last=-1) %}{% for m in messages[::-1] %}{% set i = (messages|length - 1) - loop.index0 %}{% if ns.last == -1 and m.role == 'user' and m.content is string %}{% set ns.last = i %}{% endif %}{% endfor %}{{ ns.last }}",
    "{% for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}<tool>{{ c.function.name }}({{ c.function.arguments|tojson }}){% for k, v in c.function.arguments|items %}{{ k }}={{ v if v is string else v|tojson }};{% endfor %}</tool>{% endfor %}{% endif %}{% endfor %}",
    "{% for m in messages if m.role == 'assistant' %}{% set c = m.content %}{% if '</think>' in c %}{% set r = c.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}{% set c = c.split('</think>')[-1].lstrip('\\n') %}[{{ r }}][{{ c }}]{% endif %}{% endfor %}",
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ loop.index0 }}{{ m.role }} {% endif %}{% endfor %}",
    "{% if not messages[0].role == 'user' %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}",
    "{%- macro render(m) -%}{{ '<' + m.role + '>' }}{%- if m.content is string -%}{{ m.content }}{%- endif -%}{%- endmacro -%}{%- for m in messages -%}{{ render(m) }}{%- if not loop.last %},{% endif -%}{%- endfor -%}",
    "{{ messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|select('string')|list|last }}",
    "{{ (messages|selectattr('role', 'eq', 'system')|list)[0].content }}", "{{ bos_token|default('<s>') + messages[0].content }}", "{{ bos_token + 'x' }}", "{{ messages[-1]['content'][0]['text'] }} {{ messages[0].content[:2] }}", "{% set date = strftime_now('%d %b %Y') if strftime_now is defined else '26 Jul 2024' %}{{ date }}", "{{ messages[0].content.strip().startswith('Be') and messages|length > 3 }}", "{% set enable = enable_thinking is defined and enable_thinking is false %}{{ enable }}", "{{ (messages[2].reasoning_content or '')|length }}", "{{ messages[2].get('reasoning_content', 'no') }}", "{% for t in tools %}{{ t.function.parameters.properties|dictsort }}{% endfor %}", "{% for name, p in tools[0].function.parameters.properties.items() %}{{ name }}: {{ p.type }}{% if p.enum %} [{{ p.enum|join(', ') }}]{% endif %}{% endfor %}")


def main():
    env = environment()
    cases = []
    for source in SNIPPETS:
        case = {"source": source}
        try:
            case["text"] = env.from_string(source).render(json.loads(json.dumps(CONTEXT)))
            if "0x" in case["text"] and " at 0x" in case["text"]:
                sys.exit(f"an address is in the result of {source!r}")
        except RecursionError:
            case |= {"error": "RecursionError", "message": ""}
        except Exception as error:  # every kind of failure is an answer
            case |= {"error": type(error).__name__, "message": str(error)}
        cases.append(case)
    if len({c["source"] for c in cases}) != len(cases):
        sys.exit("a snippet is there twice")
    document = {"schema": "vt.jinja-cases/1",
                "oracle": f"Jinja2 {jinja2.__version__} on Python {sys.version.split()[0]}",
                "now": "2026-01-02T03:04:05", "context": CONTEXT, "cases": cases}
    json.dump(document, sys.stdout, ensure_ascii=False, indent=1)
    print()


main()
