import type { QueryCommand, queryRequests } from '../../src/protocol/queryMessages.ts';
import type { Panel } from '../lib/bridge.ts';
import type { Histogram } from './statements.ts';

type Requests = typeof queryRequests;

/** Error shown to the user. */
export interface Fault {
	readonly message: string;
	readonly action?: string | undefined;
}

/** Panel interface used by the model. */
export type QueryPort = Panel<QueryCommand, Requests>;

/** Type of change: query, available runs and columns, progress, or result. */
export type QueryChange = 'question' | 'overview' | 'busy' | 'answer' | 'hits' | 'histogram' | 'notice';

export interface Busy {
	readonly id: number;
	readonly what: 'sql' | 'search' | 'export';
	readonly since: number;
	/** Number of bytes searched, and total number of bytes. */
	readonly bytes: number;
	readonly total: number;
}

export interface HistogramState {
	readonly column: string;
	/** null while the histogram is pending, or if it failed. */
	readonly made: Histogram | null;
	readonly failure: Fault | null;
}

/** Temporary message: what was saved, or why an action failed. */
export interface Notice {
	readonly text: string;
	readonly isError: boolean;
}
