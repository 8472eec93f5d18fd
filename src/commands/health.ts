/** `softquota health`: checks whether the gate answers, for a supervisor or a container. */

import { Option } from 'commander';
import { z } from 'zod';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { apiCommand } from './api-command.ts';
import { gateClient } from './client.ts';
import { type ConfigOption, configFrom } from './settings.ts';

interface HealthOptions extends ConfigOption {
  readonly ready?: boolean;
}

const answer = z.object({ status: z.string(), reasons: z.array(z.string()) });

type Answer = z.infer<typeof answer>;

export const addHealth = apiCommand<Answer, HealthOptions>({
  words: 'health',
  summary: 'check whether the daemon answers',
  description:
    'Asks the gate for its health, as a supervisor or a container does. A daemon that answers is alive, even ' +
    'if its figures are not reliable yet; --ready checks the figures, too.',
  options: [new Option('--ready', 'also check whether its answers are reliable')],
  after: '\nExit status: 0 healthy, 1 not healthy, or no answer.',
  find: ask,
  text: ({ status, reasons }) => [status, ...reasons],
  status: ({ status }) => (status === 'ok' ? exitCodes.done : exitCodes.refused),
});

async function ask(options: HealthOptions): Promise<Answer> {
  const client = gateClient(configFrom(options));
  try {
    const { json } = await client.ask({ path: options.ready === true ? '/readyz' : '/healthz' });
    return answer.parse(json);
  } catch (error) {
    // The caller asks for a yes or a no, so an error is an answer here, not a failure.
    if (error instanceof SoftquotaError) return { status: 'no answer', reasons: [error.message] };
    if (error instanceof z.ZodError)
      return { status: 'no answer', reasons: ['the answer is not from a gate'] };
    throw error;
  }
}
