/** Templates of mails: values, lists, and mistakes that are told with their line. */

import t from 'tap';
import { parseMailTemplate, render } from '../../src/notices/mail.ts';
import { escapeHtml } from '../../src/text.ts';

const names = new Set(['owner', 'kinds', 'name', 'size']);
const plain = (text: string) => text;

function rendered(template: string, view: Parameters<typeof render>[1], escaped = plain): string {
  return render(parseMailTemplate(template, names), view, escaped);
}

t.test('values and lists stand where their names do', async t => {
  const view = {
    owner: 'alice',
    kinds: [
      { name: 'a', size: '1' },
      { name: 'b', size: '2' },
    ],
  };
  t.equal(
    rendered('{{owner}}:{{#kinds}} {{name}}={{size}}({{ owner }}){{/kinds}}.', view),
    'alice: a=1(alice) b=2(alice).',
  );
  t.equal(rendered('a\n{{#kinds}}\n- {{name}}\n{{/kinds}}\nb', view), 'a\n- a\n- b\nb');
  t.equal(
    rendered('{{^kinds}}none{{/kinds}}{{#owner}}is {{owner}}{{/owner}}', { owner: '', kinds: [] }),
    'none',
  );
  t.equal(rendered('{{name}}{{size}}', {}), '');
});

t.test('a value stays a value, whatever is in it', async t => {
  t.equal(rendered('{{owner}}', { owner: '{{name}}', name: 'x' }), '{{name}}');
  t.equal(rendered('<b>{{owner}}</b>', { owner: `<&"'>` }, escapeHtml), '<b>&lt;&amp;&quot;&#39;&gt;</b>');
});

t.test('a mistake is told with its line', async t => {
  for (const [template, words] of [
    ['a\n{{ownr}}', 'line 2: there is no value ownr; known are owner, kinds, name, size'],
    ['{{#kinds}}', 'line 1: {{#kinds}} has no end'],
    ['\n\n{{/kinds}}', 'line 3: {{/kinds}} ends nothing that is open'],
    ['{{#kinds}}{{#owner}}{{/kinds}}', 'line 1: {{/kinds}} ends nothing that is open'],
    ['a {{owner', 'line 1: {{ is not closed'],
    ['x'.repeat(300_000), 'longer than 262144 characters'],
  ] as const) {
    t.throws(() => parseMailTemplate(template, names), { message: words });
  }
  const kinds = Array.from({ length: 2000 }, () => ({ name: 'x'.repeat(1000) }));
  t.throws(() => rendered('{{#kinds}}{{name}}{{/kinds}}', { kinds }), {
    message: /more than 1000000 characters/,
  });
});
