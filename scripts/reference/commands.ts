/** docs/commands.md: what each command's own `--help` says. */

import { describedCommands } from './described.ts';

export async function commandReference(): Promise<string> {
  const chapters = (await describedCommands()).map(
    ({ name, help }) => `## ${name}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`,
  );
  return [
    '# Commands',
    '',
    'What `--help` prints, gathered by `npm run generate`. Commands talk to the running daemon over',
    '`[server] ADMIN_SOCKET`, or over HTTP where `SOFTQUOTA_URL` and `SOFTQUOTA_TOKEN` say so; `check` asks the',
    'gate, as a hook does.',
    '',
    chapters.join('\n'),
  ].join('\n');
}
