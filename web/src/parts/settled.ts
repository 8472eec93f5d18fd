/** A value once it has stayed the same for a while, so that not every key is a question. */

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

/** A text that is searched for: as it is typed, and once it has settled, which the address has as `q`. */
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
