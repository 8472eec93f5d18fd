/** The page of all keys in Redis, from the comment at the head of the file that names them. */

import { readFileSync } from 'node:fs';

const source = new URL('../../src/store/redis/keys.ts', import.meta.url);

export function redisKeysPage(): string {
  const [head = ''] = readFileSync(source, 'utf8').split('*/', 1);
  const lines = head.split('\n').map(line => line.replace(/^ \* ?/, ''));
  const rows: string[] = [];
  for (const line of lines) {
    const [, key, type, meaning] = /^ {4}(PREFIX:\S+) +(\w+) +(.*)$/.exec(line) ?? [];
    const [, more] = /^ {10,}(\S.*)$/.exec(line) ?? [];
    if (key !== undefined) rows.push(`| \`${key}\` | ${type} | ${meaning}`);
    else if (more !== undefined) rows.push(`${rows.pop()} ${more}`);
  }
  const rest = lines.slice(lines.findLastIndex(line => line.startsWith('    ')) + 1);
  return `# Keys in Redis

Written by \`npm run generate\`; [redis.md](../redis.md) says how hosts share a Redis.

| key | type | what |
|---|---|---|
${rows.map(row => `${row} |`).join('\n')}

${rest.join('\n').trim()}
`;
}
