/**
 * The shapes of the API's requests and answers, as schemas. The daemon's types and the API's description come
 * from them, and the commands parse answers with them. Sizes are bytes, times ISO 8601.
 */

export * from './accounts.ts';
export * from './auths.ts';
export * from './bounds.ts';
export * from './figures.ts';
export * from './hidden-refs.ts';
export * from './mapping.ts';
export * from './notices.ts';
export * from './operation.ts';
export * from './pages.ts';
export * from './policy.ts';
export * from './reasoning.ts';
export * from './requests.ts';
export * from './snake-case.ts';
export * from './space.ts';
export * from './usage.ts';
export * from './worker.ts';
