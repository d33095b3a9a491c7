import * as v from 'valibot';
import type { Failure } from '../base/failure.ts';
import { failureDataSchema } from './failureData.ts';

/**
 * Envelope for all messages between a webview and its panel. Events are complete snapshots or numbered deltas. Every
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

/** Whether the page is visible. A hidden tab keeps its page, but the page renders nothing. */
export const webviewShownSchema = v.object({ kind: v.literal('shown'), shown: v.boolean() });
export type WebviewShown = v.InferOutput<typeof webviewShownSchema>;

/**
 * Makes the page keep a copy of its saved state, or restore that copy. The page confirms a restore with {@link
 * webviewReplacedSchema}, after which the panel reloads the page.
 */
export const webviewStateSchema = v.object({ kind: v.literal('state'), action: v.picklist(['keep', 'replace']) });
export type WebviewStateChange = v.InferOutput<typeof webviewStateSchema>;
export const webviewReplacedSchema = v.object({ kind: v.literal('replaced') });
export type WebviewReplaced = v.InferOutput<typeof webviewReplacedSchema>;

/** Messages from an app to its panel. */
export const fromWebviewSchema = v.variant('kind', [webviewRequestSchema, webviewEventSchema]);
/** Messages that a panel receives. */
export const panelMessageSchema = v.variant('kind', [fromWebviewSchema, webviewReplacedSchema]);
/** Messages that a webview receives. */
export const toWebviewSchema = v.union([
	webviewEventSchema,
	webviewShownSchema,
	webviewStateSchema,
	webviewResponseSchema,
]);

/** Methods that a panel answers, with the types of their parameters and results. */
export interface RequestTable {
	readonly [method: string]: { readonly params: v.GenericSchema; readonly result: v.GenericSchema };
}
export type RequestParams<T extends RequestTable, M extends keyof T> = v.InferInput<T[M]['params']>;
export type RequestResult<T extends RequestTable, M extends keyof T> = v.InferOutput<T[M]['result']>;

/** View state that survives the window; decoded by the serializer. Only the run folder in it is trusted. */
export const panelStateSchema = v.looseObject({ runFolder: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)) });
