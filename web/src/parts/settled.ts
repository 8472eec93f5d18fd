/** Returns a value after it has been unchanged for a while, so that not every key causes a request. */

import { useEffect, useState } from 'preact/hooks';
import { useQueryPart } from '../place.ts';

export function useSettled<Value>(value: Value, afterMs: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(() => value), afterMs);
    return () => clearTimeout(timer);
  }, [value, afterMs]);
  return settled;
}

/** Text of a search: as typed, and as `q` of the address after a pause. */
export function useSearchText(afterMs: number) {
  const [query, change] = useQueryPart();
  const q = query.get('q') ?? '';
  const [text, setText] = useState(q);
  const settled = useSettled(text.trim(), afterMs);
  useEffect(() => {
    if (settled !== q) change({ q: settled, page: '' });
  });
  return { text, setText, settled };
}
