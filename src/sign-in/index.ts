/**
 * Signing in by an OAuth2 source: to the provider and back, and what is believed of what it says.
 *
 * Knows nothing of HTTP but addresses and cookies. Nothing that comes from a provider or a browser is ever
 * shown to anybody: a fault is a code with words of our own, and the log has the reason.
 */

export { SignInFault } from './fault.ts';
export {
  type Finishing,
  type Onward,
  SignInFlow,
  type SignInFlowOptions,
} from './flow.ts';
