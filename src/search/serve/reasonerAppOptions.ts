import type { GuardOptions } from '../../rpc/http/loopbackGuard.ts';
import type { Reasoner } from './reasoner.ts';

export interface ReasonerLimits {
	/** Maximum size of a request body, in bytes. */
	readonly bodyBytes: number;
	/** Maximum number of concurrent requests with searches, and of waiting requests. */
	readonly running: number;
	readonly waiting: number;
	/** Interval between comments that keep a stream alive, in milliseconds. */
	readonly keepAliveMs: number;
	/** Time limits for receiving the headers and the entire request, in milliseconds. */
	readonly headersMs: number;
	readonly requestMs: number;
}

export const defaultReasonerLimits: ReasonerLimits = {
	bodyBytes: 1 << 20,
	running: 8,
	waiting: 1000,
	keepAliveMs: 5000,
	headersMs: 15_000,
	requestMs: 60_000,
};

/** Log entry for a completed request; contains none of its text. */
export interface RequestRecord {
	readonly path: string;
	readonly status: number;
	readonly strategy: string | null;
	readonly tokens: number;
	readonly seconds: number;
	/** Why the request failed. */
	readonly message: string | null;
}

/** What to do with system messages: `keep` them, `prepend` their text to the problem, or `drop` them. */
export type SystemMessages = 'keep' | 'prepend' | 'drop';

export interface ReasonerAppOptions {
	readonly reasoner: Reasoner;
	/** Model name that clients request. */
	readonly model: string;
	/** How to handle system messages. Default `keep`: policies that do not follow instructions reject them. */
	readonly systemMessages?: SystemMessages;
	/** Access settings for the running server; read on every request, because the port is not known at first. */
	readonly access: () => GuardOptions;
	readonly limits: ReasonerLimits;
	/** Fires when running searches must stop and return the results so far. */
	readonly ending: AbortSignal;
	/** Clock, in Unix milliseconds. */
	readonly now: () => number;
	readonly onRequest?: (record: RequestRecord) => void;
	/** Called for errors that are not caused by client input. */
	readonly onFault?: (error: unknown) => void;
}
