import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { Failure } from '../../base/failure.ts';
import { decode } from '../../protocol/decode.ts';
import { type PipelineRecipe, pipelineRecipeSchema } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import type { Recipe } from '../../protocol/recipeKeys/recipe.ts';
import { compileStage, placeholders } from '../pipeline/compileStage.ts';
import { orderStages } from '../pipeline/pipelineGraph.ts';
import { checkPipeline, type WrittenRecipe } from './checkPipeline.ts';
import { checkRecipe, type PathFault } from './checkRecipe.ts';
import { explainFaults } from './explainFaults.ts';
import type { RecipeFix } from './recipeFix.ts';

/** An error with its location in the text. */
export interface RecipeFault {
	/** Path in the recipe, such as `stages[1].beta`. Empty for the entire recipe or for syntax errors. */
	readonly path: string;
	/** One sentence that names the key and suggests a fix. */
	readonly message: string;
	/** Offset in UTF-16 code units. */
	readonly offset: number;
	readonly length: number;
	/** 1-based line number. */
	readonly line: number;
	readonly column: number;
	readonly fix?: RecipeFix;
}

export type ParsedRecipe =
	| {
			readonly ok: true;
			/** The recipe. For a pipeline, the first stage as a recipe, which is sufficient for verifying rewards. */
			readonly recipe: Recipe;
			/** Set if the stages have names, in which case the recipe is run as a pipeline. */
			readonly pipeline: PipelineRecipe | null;
			/** Path of each pipeline stage in the text. The path of a stage in a loop includes the loop. */
			readonly places: readonly PathFault['path'][];
	  }
	| { readonly ok: false; readonly faults: readonly RecipeFault[] };

const maxLength = 1_000_000;

const syntaxWords: Readonly<Record<string, string>> = {
	InvalidSymbol: 'Invalid JSON value. Strings must be in double quotes.',
	InvalidNumberFormat: 'Invalid JSON number.',
	PropertyNameExpected: 'Expected a key in double quotes.',
	ValueExpected: 'Expected a value.',
	ColonExpected: 'Expected a colon.',
	CommaExpected: 'Expected a comma.',
	CloseBraceExpected: 'Missing closing }.',
	CloseBracketExpected: 'Missing closing ].',
	EndOfFileExpected: 'Unexpected text after the end of the recipe. Remove it.',
	UnexpectedEndOfComment: 'Unterminated comment. Add */.',
	UnexpectedEndOfString: 'Unterminated string. Add a double quote.',
};

/** Returns the value of a syntax tree. All keys become own properties, regardless of name. Reports duplicate keys. */
function treeValue(node: Node, path: PathFault['path'], faults: { node: Node; fault: PathFault }[]): unknown {
	if (node.type === 'array') return (node.children ?? []).map((child, i) => treeValue(child, [...path, i], faults));
	if (node.type !== 'object') return node.value;
	const value: Record<string, unknown> = {};
	for (const property of node.children ?? []) {
		const [keyNode, valueNode] = property.children ?? [];
		if (keyNode === undefined || valueNode === undefined) continue;
		const key = String(keyNode.value);
		if (Object.hasOwn(value, key)) {
			const message = `Duplicate key "${key.slice(0, 80)}". Remove one.`;
			faults.push({ node: keyNode, fault: { path: [...path, key], message } });
			continue;
		}
		const child = treeValue(valueNode, [...path, key], faults);
		Object.defineProperty(value, key, { value: child, enumerable: true, configurable: true, writable: true });
	}
	return value;
}

/** Formats `['stages', 1, 'beta']` as `stages[1].beta`. */
export function formatPath(path: PathFault['path']): string {
	return path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('');
}

/** Returns an object's duplicate keys, which are not syntax errors. */
export function repeatedKeys(text: string): string[] {
	const doubled: Parameters<typeof treeValue>[2] = [];
	const root = parseTree(text, [], { allowTrailingComma: true });
	if (root !== undefined) treeValue(root, [], doubled);
	return doubled.map(({ fault }) => formatPath(fault.path));
}

/** Returns the node to highlight: the key of a property, or the value if there is no key. */
function nodeAt(root: Node, path: PathFault['path']): Node {
	const node = findNodeAtLocation(root, [...path]) ?? root;
	return node.parent?.type === 'property' ? (node.parent.children?.[0] ?? node) : node;
}

/**
 * Parses a recipe from JSON with comments and trailing commas. Reports errors in syntax, keys, types, and combinations
 * of keys, each with its location. A returned recipe can always be resolved.
 */
export function parseRecipe(text: string): ParsedRecipe {
	const starts = lineStarts(text);
	const place = (path: string, message: string, offset: number, length: number): RecipeFault => {
		const line = starts.findLastIndex((start) => start <= offset);
		return { path, message, offset, length, line: line + 1, column: offset - (starts[line] as number) + 1 };
	};
	const fail = (message: string): ParsedRecipe => ({ ok: false, faults: [place('', message, 0, 0)] });
	if (text.length > maxLength) return fail(`The recipe is too long: the limit is ${maxLength} characters.`);
	if (text.trim() === '') return fail('The recipe is empty. Start with {"name", "dataset", "model", "stages"}.');
	let root: Node | undefined;
	const errors: ParseError[] = [];
	try {
		root = parseTree(text, errors, { allowTrailingComma: true });
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		return fail('The recipe is nested too deeply.');
	}
	if (errors.length > 0 || root === undefined) {
		const faults = errors.slice(0, 100).map(({ error, offset, length }) => {
			const code = printParseErrorCode(error);
			return place('', syntaxWords[code] ?? `Invalid JSON (${code}).`, offset, length);
		});
		return faults.length > 0 ? { ok: false, faults } : fail('The recipe is not a JSON object.');
	}
	const doubled: { node: Node; fault: PathFault }[] = [];
	const value = treeValue(root, [], doubled);
	const faults = doubled.map(({ node, fault }) => ({ fault, node }));
	const add = (found: readonly PathFault[]) => {
		for (const fault of found) faults.push({ fault, node: nodeAt(root, fault.path) });
	};
	add(explainFaults(pipelineRecipeSchema, value));
	const decoded = decode(pipelineRecipeSchema, value);
	if (decoded.ok && faults.length === 0) {
		const checked = checkPipeline(decoded.value as WrittenRecipe);
		if (checked.kind !== 'recipe') add(checked.faults);
		if (checked.kind === 'pipeline' && faults.length === 0) {
			return { ok: true, recipe: firstStage(checked.pipeline), pipeline: checked.pipeline, places: checked.places };
		}
		if (checked.kind === 'recipe') {
			add(checkRecipe(checked.recipe));
			if (faults.length === 0) return { ok: true, recipe: checked.recipe, pipeline: null, places: [] };
		}
	}
	if (!decoded.ok && faults.length === 0) {
		// The decoder found an error that explainFaults missed. Its own message without a location is better than none.
		return {
			ok: false,
			faults: decoded.faults.map((fault) => place(fault.path, `${fault.path} ${fault.message}.`, 0, 0)),
		};
	}
	return {
		ok: false,
		faults: faults
			.map(({ fault, node }) => ({
				...place(formatPath(fault.path), fault.message, node.offset, node.length),
				...(fault.fix === undefined ? {} : { fix: fault.fix }),
			}))
			.sort((a, b) => a.offset - b.offset),
	};
}

function firstStage(pipeline: PipelineRecipe): Recipe {
	const ordered = orderStages(pipeline.stages);
	const stages = ordered.ok ? ordered.stages : pipeline.stages;
	const stage = stages[0] as PipelineRecipe['stages'][number];
	return compileStage(pipeline, stage, placeholders(pipeline, stage));
}

function lineStarts(text: string): number[] {
	const starts = [0];
	for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
	return starts;
}

/** Like {@link parseRecipe}, but throws `invalid` for the first error. `what` is the file name in the message. */
export function recipeOrThrow(text: string, what: string): Omit<Extract<ParsedRecipe, { readonly ok: true }>, 'ok'> {
	const parsed = parseRecipe(text);
	if (parsed.ok) return parsed;
	const [fault] = parsed.faults;
	const others = parsed.faults.length > 1 ? ` (${parsed.faults.length - 1} more)` : '';
	throw new Failure('invalid', `${what}, line ${fault?.line}, column ${fault?.column}: ${fault?.message}${others}`);
}
