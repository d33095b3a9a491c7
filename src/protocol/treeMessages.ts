import * as v from 'valibot';
import { searchBudgetSchema } from './treeLog.ts';

/*
 * Messages between the tree view (webview/tree) and the extension. The view holds the events and makes its tree of them; the
 * extension follows the log. Texts of nodes are cut in what it sends (`cut`), and asked for when a node is inspected.
 */

const id = v.pipe(v.number(), v.integer(), v.minValue(0));

export const treeSourceSchema = v.object({
	title: v.string(),
	/** Where the log lies; shown, never opened by the view. */
	path: v.string(),
	/** Of which format it is, when another program wrote it. */
	foreign: v.nullable(v.string()),
	/** Which of the trees of the file this is, and their names. */
	trees: v.array(v.string()),
	chosen: v.number(),
	/** What could not be read, in words. */
	faults: v.array(v.string()),
	/** A search writes to it now. */
	running: v.boolean(),
	/** It can continue (own log, trusted workspace), with what it was started with; null: why not, in words. */
	canGoOn: v.union([v.literal(true), v.string()]),
});
export type TreeSource = v.InferOutput<typeof treeSourceSchema>;

/** Extension -> view. */
export const treeViewEventSchema = v.variant('type', [
	/** Begins again: all that was sent before is forgotten. `side`: the tree itself, or the one that it is compared with. */
	v.object({
		type: v.literal('open'),
		side: v.picklist(['main', 'other']),
		generation: v.number(),
		source: treeSourceSchema,
	}),
	/**
	 * Events in their order, from the number `from` on; a view that lacks what is before asks with `ready`. At most a few
	 * megabytes at a time, so that a large tree is drawn before all of it is there.
	 */
	v.object({
		type: v.literal('events'),
		side: v.picklist(['main', 'other']),
		generation: v.number(),
		from: id,
		/** UTF-8 of what `treeEventLines` writes and `readTreeEventLines` reads (treeEventReader.ts). */
		lines: v.instance(Uint8Array),
		/** Nothing more is there now. */
		complete: v.boolean(),
	}),
	/** Nothing can be shown of the log; what was sent before stays. */
	v.object({
		type: v.literal('failed'),
		side: v.picklist(['main', 'other']),
		message: v.string(),
		action: v.nullable(v.string()),
	}),
	v.object({ type: v.literal('source'), side: v.picklist(['main', 'other']), source: treeSourceSchema }),
	/** The whole text of a node whose `node` event said `cut: true`. */
	v.object({ type: v.literal('text'), side: v.picklist(['main', 'other']), id, text: v.string() }),
	/** Looks at a node. */
	v.object({ type: v.literal('reveal'), node: id }),
	v.object({ type: v.literal('closeOther') }),
]);
export type TreeViewEvent = v.InferOutput<typeof treeViewEventSchema>;

/** View -> extension. */
export const treeViewCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Reads the log once more, after it failed. */
	v.object({ type: v.literal('again') }),
	v.object({ type: v.literal('choose'), tree: v.number() }),
	v.object({ type: v.literal('wantText'), side: v.picklist(['main', 'other']), id }),
	/** The extension asks for what is missing (budget) and says what it did by `source` and events. */
	v.object({ type: v.literal('branch'), node: id }),
	v.object({ type: v.literal('edit'), node: id, text: v.string() }),
	v.object({ type: v.literal('force'), node: id, token: id, text: v.string() }),
	v.object({ type: v.literal('prune'), node: id, restore: v.boolean() }),
	v.object({ type: v.literal('more'), budget: v.optional(searchBudgetSchema) }),
	v.object({ type: v.literal('stop') }),
	/** Chooses another tree to compare with. */
	v.object({ type: v.literal('compare') }),
	v.object({ type: v.literal('closeOther') }),
	/** What the view has drawn or written, to be saved where the person says. */
	v.object({
		type: v.literal('export'),
		format: v.picklist(['svg', 'png', 'json', 'mermaid']),
		/** PNG as base64. */
		content: v.string(),
	}),
	v.object({ type: v.literal('copy'), text: v.string() }),
	v.object({ type: v.literal('openLog') }),
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type TreeViewCommand = v.InferOutput<typeof treeViewCommandSchema>;

/** What a tree view's state that survives its window names of the outside; the rest of it is the view's own. */
export const treeStateSchema = v.looseObject({
	/** Where the log lies; a panel that is brought back checks it like any foreign path. */
	path: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)),
	/** Which of the trees of the file. */
	tree: v.optional(id, 0),
	/** The log that it is compared with. */
	other: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(4096))), null),
});
export type TreeState = v.InferOutput<typeof treeStateSchema>;
