/** The log that all parts write to; pino loggers are such. Each part asks for the levels that it uses. */
export interface Log {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}
