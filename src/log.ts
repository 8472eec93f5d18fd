/** The log that all modules write to, such as a pino logger. A module takes only the levels that it uses. */
export interface Log {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

interface Repeated {
  readonly level: keyof Log;
  readonly message: string;
  fields: object;
  times: number;
}

const minuteMs = 60_000;
const mostLinesInMinute = 100;

/**
 * Wraps a log for events that outsiders can cause at will: writes at most 100 different lines a minute.
 *
 * Lines are alike if they have the same message and the same texts in their fields. The first of such lines
 * is written at once; if more come within the minute, the last one is written at its end, with `times`. All
 * lines beyond 100 are only counted.
 */
export function sparingLog(log: Log): Log {
  const lines = new Map<string, Repeated>();
  let left = { count: 0, level: 'info' as keyof Log };
  const turn = () => {
    if (left.count > 0) log[left.level]({ lines: left.count }, 'more lines like these were left out');
    left = { count: 0, level: 'info' };
    for (const [key, line] of lines) {
      const { level, message, fields, times } = line;
      // A line that is written here counts for the next minute.
      if (times === 0) lines.delete(key);
      else log[level]({ ...fields, times }, message);
      line.times = 0;
    }
    if (lines.size > 0) setTimeout(turn, minuteMs).unref();
  };
  const write = (level: keyof Log) => (fields: object, message: string) => {
    const key = [message, ...Object.values(fields).map(textOf)].join('\0');
    const known = lines.get(key);
    if (known !== undefined) {
      known.fields = fields;
      known.times += 1;
    } else if (lines.size >= mostLinesInMinute) left = { count: left.count + 1, level };
    else {
      if (lines.size === 0) setTimeout(turn, minuteMs).unref();
      lines.set(key, { level, message, fields, times: 0 });
      log[level](fields, message);
    }
  };
  return { error: write('error'), warn: write('warn'), info: write('info') };
}

function textOf(value: unknown): string {
  if (value instanceof Error) return value.message;
  return typeof value === 'string' ? value : '';
}
