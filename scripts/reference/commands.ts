/** docs/commands.md: what each command's own `--help` says. */

import type { Command } from 'commander';
import { buildProgram } from '../../src/commands/index.ts';

/** As wide as a terminal, whoever generates it. */
const helpWidth = 100;

export async function commandReference(): Promise<string> {
  const program = await buildProgram(() => {});
  const described = [program, ...below(program)].map(command => {
    const name = fullName(command);
    return `## ${name}\n\n\`\`\`text\n${helpOf(command).trimEnd()}\n\`\`\`\n`;
  });
  return [
    '# Commands',
    '',
    'What `--help` prints, gathered by `npm run generate`. Commands talk to the running daemon over',
    '`[server] ADMIN_SOCKET`, or over HTTP where `SOFTQUOTA_URL` and `SOFTQUOTA_TOKEN` say so; `check` asks the',
    'gate, as a hook does.',
    '',
    described.join('\n'),
  ].join('\n');
}

function below(command: Command): Command[] {
  return command.commands.flatMap(each => [each, ...below(each)]);
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

/** With what stands behind it, which `helpInformation` leaves out. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: part => {
      text += part;
    },
    getOutHelpWidth: () => helpWidth,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text;
}
