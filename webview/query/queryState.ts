import type { QueryCommand, queryRequests } from '../../src/protocol/queryMessages.ts';
import type { Panel } from '../lib/bridge.ts';
import type { Histogram } from './statements.ts';

type Requests = typeof queryRequests;

/** An error as shown to the user. */
export interface Fault {
	readonly message: string;
	readonly action?: string | undefined;
}

/** The panel, as seen by the model. */
export type QueryPort = Panel<QueryCommand, Requests>;

/** What changed: the query, available runs and columns, progress, or the result. */
export type QueryChange = 'question' | 'overview' | 'busy' | 'answer' | 'hits' | 'histogram' | 'notice';

export interface Busy {
	readonly id: number;
	readonly what: 'sql' | 'search' | 'export';
	readonly since: number;
	/** Bytes of text searched, and in total. */
	readonly bytes: number;
	readonly total: number;
}

export interface HistogramState {
	readonly column: string;
	/** null: pending or failed. */
	readonly made: Histogram | null;
	readonly failure: Fault | null;
}

/** A temporary message: what was saved, or why an action failed. */
export interface Notice {
	readonly text: string;
	readonly isError: boolean;
}
