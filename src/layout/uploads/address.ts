/**
 * The address of a request, in each way in which a server may read it.
 *
 * A proxy asks about an address as the client wrote it, and the server behind it may read that in its own way:
 * some resolve dots, some take an encoded slash for a slash. So an address has several readings, and what one
 * of them grows is asked about.
 */

export interface RequestAddress {
  /** Decoded names between slashes, without empty ones; at least one reading. */
  readonly readings: readonly (readonly string[])[];
  readonly query: URLSearchParams;
}

/** Reads a request's target, absolute or not; never throws: what is not understood stands as it is written. */
export function readAddress(target: string): RequestAddress {
  const end = target.indexOf('?');
  const path = (end === -1 ? target : target.slice(0, end)).replace(/^https?:\/\/[^/]*/i, '');
  const query = new URLSearchParams(end === -1 ? '' : target.slice(end + 1));
  // No client sends a fragment; who does may be cut off there, or not.
  const [cutOff = ''] = path.split('#', 1);
  const all = [path, cutOff].flatMap(text => {
    const written = text.split('/').map(decoded);
    const split = written.flatMap(name => name.split('/'));
    return [written, split].flatMap(names => {
      const present = names.filter(name => name !== '');
      return [present, withoutDots(present)];
    });
  });
  const readings = [...new Map(all.map(names => [names.join('\0'), names])).values()];
  return { readings, query };
}

/** The target without the path that the server is below, where it has it; all else as it is written. */
export function withoutBase(target: string, base: string): string {
  let rest = target;
  for (const name of base.split('/').filter(part => part !== '')) {
    const [all = '', first = ''] = /^\/+([^/?#]*)/.exec(rest) ?? [];
    if (decoded(first) !== decoded(name)) return target;
    rest = rest.slice(all.length);
  }
  return rest.startsWith('/') ? rest : target;
}

/** Bytes that are no UTF-8 become U+FFFD, and a percent sign without two digits stays. */
function decoded(name: string): string {
  if (!name.includes('%')) return name;
  const bytes = Buffer.from(
    Buffer.from(name)
      .toString('latin1')
      .replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  );
  return bytes.toString();
}

function withoutDots(names: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const name of names) {
    if (name === '..') kept.pop();
    else if (name !== '.') kept.push(name);
  }
  return kept;
}
