/**
 * The code of a sign-in link: behind the `#`, which browsers send to nobody, and taken out of the address at
 * once.
 */

import { useEffect, useState } from 'preact/hooks';

/** Null: there was none. */
export function useCode(): string | null {
  const [code, setCode] = useState(takenCode);
  useEffect(() => {
    // Another link in the same tab only changes what stands behind the `#`.
    const take = () => setCode(before => takenCode() ?? before);
    window.addEventListener('hashchange', take);
    return () => window.removeEventListener('hashchange', take);
  }, []);
  return code;
}

function takenCode(): string | null {
  const { hash, pathname, search } = window.location;
  const code = new URLSearchParams(hash.slice(1)).get('code');
  if (code === null) return null;
  window.history.replaceState(null, '', `${pathname}${search}`);
  return code;
}
