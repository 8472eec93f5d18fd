import t from 'tap';
import { fragments } from '../../scripts/comments.ts';

t.test('a comment that opens with a fragment is named with its line, a sentence is not', async t => {
  const text = [
    '/** Number of rows. */',
    '/** How many rows there are. */',
    '  /**',
    '   * As configured.',
    '   */',
    '  // Rows are kept',
    '  // Where they are.',
    '  // Whoever asks again waits.',
    'const path = "// Of a text";',
    '// So many.',
  ].join('\n');
  t.same(fragments(text), ['2: How many rows there are. */', '3: As configured.', '10: So many.']);
});
