/** Reads a setting as the hooks take it, by the same rules. */

import { isClient, isLastFor } from '../git/index.ts';

/** Names as hook.conf and `git config` spell them. */
export type SettingName = 'socket' | 'onError' | 'lastFor' | 'timeout' | 'judgeTimeout' | 'client';

export const settingNames: readonly SettingName[] = [
  'socket',
  'onError',
  'lastFor',
  'timeout',
  'judgeTimeout',
  'client',
];

/** Returns why the hooks do not accept a value and use the default; null if they accept it. */
export function settingFault(name: SettingName, value: string): string | null {
  switch (name) {
    case 'socket':
      if (/\p{Cc}/u.test(value)) return 'it contains a control character';
      return value.startsWith('/') ? null : 'expected an absolute path';
    case 'onError':
      return ['allow', 'deny', 'last'].includes(value) ? null : 'expected allow, deny or last';
    case 'lastFor':
      return isLastFor(value) ? null : 'expected 1 to 999 hours or days, such as 24h or 7d';
    case 'timeout':
    case 'judgeTimeout':
      return isTimeout(value) ? null : 'expected a number of seconds from 0.1 to 60';
    case 'client':
      return isClient(value) ? null : 'expected curl, nc or socat';
  }
}

function isTimeout(value: string): boolean {
  if (!/^\d+(\.\d+)?$/.test(value)) return false;
  return /^(0\.[1-9]\d*|[1-9]|[1-9]\.\d+|[1-5]\d|[1-5]\d\.\d+|60)$/.test(value);
}
