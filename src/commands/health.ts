/** `softquota health`: whether the gate answers, for whatever watches over a daemon. */

import type { Command } from 'commander';
import { z } from 'zod';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';
import { gateClient } from './client.ts';
import type { Exit } from './exit.ts';
import { printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';

interface HealthOptions extends ConfigOption {
  readonly ready?: boolean;
  readonly json?: boolean;
}

const answer = z.object({ status: z.string(), reasons: z.array(z.string()) });

type Answer = z.infer<typeof answer>;

export function addHealth(program: Command, exit: Exit): void {
  withJsonOption(withConfigOption(program.command('health')))
    .summary('tell whether the daemon answers')
    .description(
      'Asks the gate how it is, as a supervisor or a container does. A daemon that answers is alive, also\n' +
        'while it cannot rely on its figures yet; --ready asks for that, too.',
    )
    .option('--ready', 'whether its answers can be relied on')
    .addHelpText('after', '\nExit status: 0 it does, 1 it does not, or nobody answers.')
    .action(async (options: HealthOptions) => {
      const found = await ask(options);
      if (options.json === true) printJson(found);
      else print(`${[found.status, ...found.reasons].map(printable).join('\n')}\n`);
      exit(found.status === 'ok' ? exitCodes.done : exitCodes.refused);
    });
}

async function ask(options: HealthOptions): Promise<Answer> {
  const client = gateClient(configFrom(options));
  try {
    const { json } = await client.ask({ path: options.ready === true ? '/readyz' : '/healthz' });
    return answer.parse(json);
  } catch (error) {
    // Who asks this wants to know whether, not why not: no fault of its own but an answer.
    if (error instanceof SoftquotaError) return { status: 'no answer', reasons: [error.message] };
    if (error instanceof z.ZodError) return { status: 'no answer', reasons: ['what answers is no gate'] };
    throw error;
  }
}
