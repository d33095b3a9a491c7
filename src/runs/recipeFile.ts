import { lstat, readFile, stat } from 'node:fs/promises';
import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser';
import { Failure } from '../base/failure.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type Recipe, recipeSchema } from '../protocol/recipe.ts';

/** A recipe is written by hand. */
const largestRecipe = 4 << 20;

/** Reads JSON with comments and trailing commas. Fails with `missing`, `denied`, or `invalid` naming the line. */
export async function readRecipeFile(path: string): Promise<unknown> {
	let text: string;
	try {
		const info = await stat(path);
		if (!info.isFile()) throw new Failure('invalid', `${path} is not a file.`, 'Name a *.recipe.json file.');
		if (info.size > largestRecipe) throw new Failure('invalid', `${path} has ${info.size} bytes; that is no recipe.`);
		text = await readFile(path, 'utf8');
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
			throw new Failure('missing', `The recipe ${path} does not exist.`, 'Name a *.recipe.json file.');
		}
		throw Failure.from(error, `Cannot read the recipe ${path}`);
	}
	const errors: ParseError[] = [];
	const value: unknown = parse(text.replace(/^\uFEFF/, ''), errors, { allowTrailingComma: true });
	const [first] = errors;
	if (first === undefined) return value;
	const before = text.slice(0, first.offset).split('\n');
	const what = printParseErrorCode(first.error)
		.replace(/([a-z])([A-Z])/g, '$1 $2')
		.toLowerCase();
	throw new Failure(
		'invalid',
		`${path} is not JSON at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${what}.`,
	);
}

/** A recipe's value as a checked recipe. @param what names it in the sentence: its path */
export function decodeRecipe(value: unknown, what: string): Recipe {
	return decodeOrThrow(recipeSchema, value, what);
}

/** Fails with `missing` when a file that the recipe names is not there. */
export async function requireFile(
	path: string,
	key: string,
	recipe: string,
	kind: 'file' | 'any' = 'file',
): Promise<void> {
	const info = await lstat(path).catch(() => null);
	if (info === null) {
		throw new Failure(
			'missing',
			`"${key}" of ${recipe} names ${path}, which does not exist.`,
			'Correct the path, or put the file there.',
		);
	}
	if (kind === 'file' && !(await stat(path)).isFile()) {
		throw new Failure('invalid', `"${key}" of ${recipe} names ${path}, which is not a file.`, 'Name a file.');
	}
}
