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

/** Text of a search, which is `q` of the address: as typed, and as it is after a pause. */
export function useSearchText(afterMs: number) {
  const [query, change] = useQueryPart();
  const text = query.get('q') ?? '';
  const setText = (q: string) => change({ q, page: '' });
  return { text, setText, settled: useSettled(text.trim(), afterMs) };
}
