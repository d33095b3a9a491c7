import * as v from 'valibot';
import { searchBudgetSchema } from './treeLog.ts';

/*
 * Messages between the tree view (webview/tree) and the extension. The view stores the events and builds its tree from
 * them; the extension follows the log. Node text is truncated when sent (`cut`) and requested in full when a node is
 * inspected.
 */

const id = v.pipe(v.number(), v.integer(), v.minValue(0));

export const treeSourceSchema = v.object({
	title: v.string(),
	/** Path of the log; the view displays it but never opens it. */
	path: v.string(),
	/** Format of the log, if another program wrote it. */
	foreign: v.nullable(v.string()),
	/** Index of this tree in the file, and the names of all trees. */
	trees: v.array(v.string()),
	chosen: v.number(),
	/** Description of anything that could not be read. */
	faults: v.array(v.string()),
	/** Whether a search is currently writing to the log. */
	running: v.boolean(),
	/**
	 * true if the search can be continued as it was started (own log, trusted workspace); otherwise the reason it cannot.
	 */
	canGoOn: v.union([v.literal(true), v.string()]),
	/** Whether nodes are turns of episodes, whose text cannot be edited. */
	episodes: v.boolean(),
});
export type TreeSource = v.InferOutput<typeof treeSourceSchema>;

/** Extension -> view. */
export const treeViewEventSchema = v.variant('type', [
	/** Starts over: everything sent before is discarded. `side`: the tree itself, or the one it is compared with. */
	v.object({
		type: v.literal('open'),
		side: v.picklist(['main', 'other']),
		generation: v.number(),
		source: treeSourceSchema,
	}),
	/**
	 * Events in order, starting with number `from`; a view that lacks earlier ones sends `ready`. Each message contains at
	 * most a few megabytes, so that a large tree can be drawn before all of it has arrived.
	 */
	v.object({
		type: v.literal('events'),
		side: v.picklist(['main', 'other']),
		generation: v.number(),
		from: id,
		/** UTF-8, as written by `treeEventLines` and read by `readTreeEventLines` (treeEventReader.ts). */
		lines: v.instance(Uint8Array),
		/** Whether all events available so far have been sent. */
		complete: v.boolean(),
	}),
	/** The log cannot be shown; anything sent before remains visible. */
	v.object({
		type: v.literal('failed'),
		side: v.picklist(['main', 'other']),
		message: v.string(),
		action: v.nullable(v.string()),
	}),
	v.object({ type: v.literal('source'), side: v.picklist(['main', 'other']), source: treeSourceSchema }),
	/** Full text of a node whose `node` event had `cut: true`. */
	v.object({ type: v.literal('text'), side: v.picklist(['main', 'other']), id, text: v.string() }),
	/** Selects a node and brings it into view. */
	v.object({ type: v.literal('reveal'), node: id }),
	v.object({ type: v.literal('closeOther') }),
]);
export type TreeViewEvent = v.InferOutput<typeof treeViewEventSchema>;

/** View -> extension. */
export const treeViewCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Rereads the log after a failure. */
	v.object({ type: v.literal('again') }),
	v.object({ type: v.literal('choose'), tree: v.number() }),
	v.object({ type: v.literal('wantText'), side: v.picklist(['main', 'other']), id }),
	/** The extension asks the user for anything missing (budget) and reports the outcome with `source` and events. */
	v.object({ type: v.literal('branch'), node: id }),
	v.object({ type: v.literal('edit'), node: id, text: v.string() }),
	v.object({ type: v.literal('force'), node: id, token: id, text: v.string() }),
	v.object({ type: v.literal('prune'), node: id, restore: v.boolean() }),
	v.object({ type: v.literal('more'), budget: v.optional(searchBudgetSchema) }),
	v.object({ type: v.literal('stop') }),
	/** Selects another tree to compare with. */
	v.object({ type: v.literal('compare') }),
	v.object({ type: v.literal('closeOther') }),
	/** Content that the view rendered or wrote, to be saved where the user chooses. */
	v.object({
		type: v.literal('export'),
		format: v.picklist(['svg', 'png', 'json', 'mermaid']),
		/** base64 for PNG. */
		content: v.string(),
	}),
	v.object({ type: v.literal('copy'), text: v.string() }),
	v.object({ type: v.literal('openLog') }),
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type TreeViewCommand = v.InferOutput<typeof treeViewCommandSchema>;

/** External references in the persisted state of a tree view; all other fields are private to the view. */
export const treeStateSchema = v.looseObject({
	/** Path of the log; a restored panel checks it like any untrusted path. */
	path: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)),
	/** Index of the tree in the file. */
	tree: v.optional(id, 0),
	/** Path of the log being compared. */
	other: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(4096))), null),
});
