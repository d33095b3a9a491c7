import type { NewSearchCommand, newSearchRequests } from '../../src/protocol/newSearchMessages.ts';
import type { Panel } from '../lib/bridge.ts';

/** The panel, as the model of the page uses it. */
export type Host = Panel<NewSearchCommand, typeof newSearchRequests>;
