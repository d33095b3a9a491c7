import type { NewSearchCommand, newSearchRequests } from '../../src/protocol/newSearchMessages.ts';
import type { Panel } from '../lib/bridge.ts';

/** The panel interface used by the page's model. */
export type Host = Panel<NewSearchCommand, typeof newSearchRequests>;
