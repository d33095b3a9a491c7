import * as v from 'valibot';
import type { Failure } from '../base/failure.ts';
import { failureDataSchema } from './failureData.ts';

/**
 * The envelope of every message between a webview and its panel. Events are complete snapshots or numbered deltas; a
 * request is answered exactly once, with a result or a failure.
 */
export const webviewRequestSchema = v.object({
	kind: v.literal('request'),
	id: v.number(),
	method: v.string(),
	params: v.unknown(),
});
export type WebviewRequest = v.InferOutput<typeof webviewRequestSchema>;

export const webviewEventSchema = v.object({ kind: v.literal('event'), event: v.unknown() });
export type WebviewEvent = v.InferOutput<typeof webviewEventSchema>;

export const webviewResponseSchema = v.union([
	v.object({ kind: v.literal('response'), id: v.number(), ok: v.literal(true), result: v.unknown() }),
	v.object({ kind: v.literal('response'), id: v.number(), ok: v.literal(false), error: failureDataSchema }),
]);
export type WebviewResponse =
	| { readonly kind: 'response'; readonly id: number; readonly ok: true; readonly result: unknown }
	| {
			readonly kind: 'response';
			readonly id: number;
			readonly ok: false;
			readonly error: ReturnType<Failure['toJSON']>;
	  };

/** Whether the page can be seen: a tab that is hidden keeps its page, which then draws nothing. */
export const webviewShownSchema = v.object({ kind: v.literal('shown'), shown: v.boolean() });
export type WebviewShown = v.InferOutput<typeof webviewShownSchema>;

/** What a panel receives. */
export const fromWebviewSchema = v.variant('kind', [webviewRequestSchema, webviewEventSchema]);
/** What a webview receives. */
export const toWebviewSchema = v.union([webviewEventSchema, webviewShownSchema, webviewResponseSchema]);

/** The methods that a panel answers: the shapes of their parameters and results. */
export interface RequestTable {
	readonly [method: string]: { readonly params: v.GenericSchema; readonly result: v.GenericSchema };
}
export type RequestParams<T extends RequestTable, M extends keyof T> = v.InferInput<T[M]['params']>;
export type RequestResult<T extends RequestTable, M extends keyof T> = v.InferOutput<T[M]['result']>;

/** A view's state that survives its window; the serializer decodes it. Nothing but the run's folder is trusted to it. */
export const panelStateSchema = v.looseObject({ runFolder: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)) });
