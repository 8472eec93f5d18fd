/** Returns a value after it has been unchanged for a while, so that not every key causes a request. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { useQueryPart } from '../place.ts';

export function useSettled<Value>(value: Value, afterMs: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(() => value), afterMs);
    return () => clearTimeout(timer);
  }, [value, afterMs]);
  return settled;
}

/**
 * Text of a search: as typed, and as `q` of the address after a pause. A link that leads to another `q`
 * replaces the typed text.
 */
export function useSearchText(afterMs: number) {
  const [query, change] = useQueryPart();
  const q = query.get('q') ?? '';
  const [text, setText] = useState(q);
  const settled = useSettled(text.trim(), afterMs);
  const last = useRef(q);
  useEffect(() => {
    if (q === last.current) return;
    last.current = q;
    setText(q);
  }, [q]);
  useEffect(() => {
    if (settled === last.current) return;
    last.current = settled;
    change({ q: settled, page: '' });
  }, [settled]);
  return { text, setText, settled };
}
