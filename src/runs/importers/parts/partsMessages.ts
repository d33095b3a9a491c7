import type { Frame, FramePlace } from '../../../files/frame.ts';
import type { JsonShape } from '../../../files/jsonParts.ts';
import type { SharedFile } from '../../../files/sharedBytes.ts';

/** A file in JSON lines, and the parts of its records to extract. */
export interface PartsRequest {
	readonly file: SharedFile;
	/** Whether the file has Zstandard frames. */
	readonly compressed: boolean;
	readonly parts: JsonShape;
	/** Frame after which to start; null: the start of the file. */
	readonly after: FramePlace | null;
}

/** To the thread. Each `next` allows it to send one more batch. */
export type PartsOrder = { readonly kind: 'read'; readonly request: PartsRequest } | { readonly kind: 'next' };

/** From the thread. A request ends with `end` or `failed`. */
export type PartsReport =
	| { readonly kind: 'frames'; readonly frames: readonly Frame[] }
	| { readonly kind: 'end' }
	| { readonly kind: 'failed'; readonly message: string };
