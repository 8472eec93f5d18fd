/** Columns that grow. */

import t from 'tap';
import { grown } from '../src/columns.ts';

t.test('a column that grows keeps what is in it, and the one before takes no memory any more', async t => {
  for (const column of [new Float64Array([1, 2]), new Int32Array([1, 2]), new Uint8Array([1, 2])]) {
    t.equal(grown<typeof column>(column, 2), column, 'there is room');
    const wider = grown<typeof column>(column, 3);
    t.strictSame([...wider.subarray(0, 3)], [1, 2, 0]);
    t.equal(column.buffer.byteLength, 0);
  }
});
