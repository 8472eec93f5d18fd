/** `softquota doctor`: what is wrong with this installation, each with the line that mends it. */

import type { Command } from 'commander';
import { z } from 'zod';
import { type Config, formatFaults, loadConfig } from '../config/index.ts';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { findRepositories, hooksStatus, isProtected } from '../githooks/index.ts';
import { parseTemplate } from '../layout/index.ts';
import { printable } from '../quota/index.ts';
import { version } from '../version.ts';
import { type Finding, finding, versionReport } from '../wire/index.ts';
import { adminClient, gateClient } from './client.ts';
import type { Exit } from './exit.ts';
import { print, printJson } from './output.ts';
import { type ConfigOption, whereIs, withConfigOption, withJsonOption } from './settings.ts';

interface DoctorOptions extends ConfigOption {
  readonly json?: boolean;
}

export function addDoctor(program: Command, exit: Exit): void {
  withJsonOption(withConfigOption(program.command('doctor')))
    .summary('tell what is wrong with this installation')
    .description(
      'Looks at everything between a push and an answer, and says what is wrong and how to mend it.',
    )
    .addHelpText('after', '\nExit status: 0 nothing is wrong (there may be notices), 1 something is.')
    .action(async (options: DoctorOptions) => {
      const found = await examine(options);
      if (options.json === true) printJson(found);
      else print(text(found));
      exit(found.some(({ severity }) => severity === 'wrong') ? exitCodes.refused : exitCodes.done);
    });
}

async function examine(options: ConfigOption): Promise<readonly Finding[]> {
  const loaded = loadConfig(whereIs(options));
  const notes = loaded.notes.map(
    (message): Finding => ({ code: 'config_note', severity: 'notice', message, mend: '' }),
  );
  if (!loaded.ok) {
    return [
      wrong(
        'config',
        formatFaults(loaded.faults),
        'mend these; softquota serve --check-config tells when all is well',
      ),
    ];
  }
  const { config } = loaded;
  return [...(await ofDaemon(config)), ...(await ofGate(config)), ...(await ofHooks(config)), ...notes];
}

async function ofDaemon(config: Config): Promise<readonly Finding[]> {
  const client = adminClient(() => config);
  try {
    const running = versionReport.parse(await client.get({ path: '/version' })).version;
    const found = z.array(finding).parse(await client.get({ path: '/admin/quota/findings' }));
    if (running === version) return found;
    return [
      wrong('version', `the daemon is ${running}, this command ${version}`, 'restart the daemon'),
      ...found,
    ];
  } catch (error) {
    return [away('daemon_away', error, 'start it: softquota serve')];
  }
}

async function ofGate(config: Config): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  try {
    await gateClient(config).ask({ path: '/healthz' });
  } catch (error) {
    found.push(away('gate_away', error, 'start the daemon, or set [server] SOCKET to where it listens'));
  }
  if (!config.quota.enabled) {
    found.push(
      notice('disabled', 'quotas are switched off, nothing is refused', 'set [quota] ENABLED = true'),
    );
  } else if (config.quota.mode === 'report') {
    found.push(
      notice(
        'report',
        'nothing is refused, only recorded',
        'set [quota] MODE = enforce when the figures convince',
      ),
    );
  }
  return found;
}

/** The repositories under the templates' fixed parts. */
async function ofHooks(config: Config): Promise<readonly Finding[]> {
  const roots = config.storages
    .filter(({ kind }) => kind === 'repos')
    .flatMap(({ templates }) => templates.map(parseTemplate))
    .flatMap(parsed => (parsed.ok ? [parsed.template.fixed] : []));
  if (roots.length === 0) return [];
  const { repositories, unread } = await findRepositories([...new Set(roots)]);
  const { repositories: states } = await hooksStatus(repositories);
  const bare = states.filter(status => !isProtected(status));
  const [first] = bare;
  return [
    ...unread.map(({ path, reason }) =>
      wrong('unread', printable(`${path}: ${reason}`), 'run this as root, or as the user of the git server'),
    ),
    ...(first === undefined
      ? []
      : [
          wrong(
            'hooks',
            `${bare.length} of ${states.length} repositories have no working hooks, such as ${printable(first.repository)}`,
            `softquota hooks install ${roots.map(printable).join(' ')}; softquota hooks status tells why`,
          ),
        ]),
  ];
}

function away(code: string, error: unknown, mend: string): Finding {
  if (error instanceof SoftquotaError) return wrong(code, printable(error.message), mend);
  throw error;
}

function wrong(code: string, message: string, mend: string): Finding {
  return { code, severity: 'wrong', message, mend };
}

function notice(code: string, message: string, mend: string): Finding {
  return { code, severity: 'notice', message, mend };
}

function text(found: readonly Finding[]): string {
  if (found.length === 0) return 'Nothing is wrong.\n';
  return found
    .map(({ severity, message, mend }) => `${severity}: ${message}\n${mend === '' ? '' : `    ${mend}\n`}`)
    .join('');
}
