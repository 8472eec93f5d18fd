/** Columns: what there is to say of many rows, packed in one typed array for each field. */

/** The row of nothing; V8 keeps small numbers, negative ones among them, in the place of the field. */
export const noRow = -1;

type Column = Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

/**
 * Returns a copy of the column with room for that many rows. It grows by half, so that growing costs each row
 * little. The old column is empty then: its memory is given back at once, for V8 would only do so when it
 * collects all garbage.
 */
export function grown<C extends Column>(column: C, rows: number): C;
export function grown(column: Column, rows: number): Column {
  if (rows <= column.length) return column;
  const length = Math.max(rows, Math.ceil(column.length * 1.5), 64);
  const wider = emptyLike(column, length);
  wider.set(column);
  column.buffer.transfer(0);
  return wider;
}

function emptyLike(column: Column, length: number): Column {
  if (column instanceof Float64Array) return new Float64Array(length);
  return column instanceof Int32Array ? new Int32Array(length) : new Uint8Array(length);
}
