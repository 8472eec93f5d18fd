/** docs/errors.md: every code of an error, with its meaning, HTTP status, exit status and fix. */

import { errorCatalog } from '../../src/errors.ts';

const introduction = `# Errors

Every error has a code that stays the same from version to version. The API answers with
\`{"message", "code", "url"}\`, the gate with \`{"message", "code"}\`, and a command ends with the exit status. The message
says what is wrong, where, and what is expected; it may change.

| code | meaning | HTTP status | exit status | fix |
|---|---|---|---|---|
`;

export function errorReference(): string {
  const rows = Object.entries(errorCatalog).map(
    ([code, { status, exit, meaning, fix }]) =>
      `| \`${code}\` | ${meaning} | ${status} | ${exit} | ${fix} |\n`,
  );
  return introduction + rows.join('');
}
