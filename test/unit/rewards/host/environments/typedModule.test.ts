import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { TypedModule } from '../../../../../src/rewards/host/environments/typedModule.ts';
import { folderFor } from '../../../search/searchFixtures.ts';

async function moduleOf(context: TestContext, text: string): Promise<() => TypedModule> {
	const file = join(await folderFor(context), 'made.env.ts');
	await writeFile(file, text);
	return () => new TypedModule(file);
}

/** Source texts that the parser rejects on its first try. Every line is needed for the rejection. */
const rejected = [
	[
		'// Two rows occur twice.',
		'await writeFile();',
		'const linesOf = async <T = Record<string, unknown>>(folder: string, name: string): Promise<T[]> =>',
		"describe('data', () => {",
		"	test('is read', async () => {",
		"		const lines = (await linesOf<Line>('plain', 'rows.jsonl')).map((line) =>",
		'			v.parse(schema, line),',
		'		);',
		'		for (const { prompt, answer } of lines) {',
		'		}',
		'	});',
		'});',
	],
	[
		'/**',
		' */',
		'export async function read(',
		'): Promise<{ readonly pipeline: Pipeline; readonly runs: readonly string[] }> {',
		'	const recipe: unknown = await readJson(folder, file).catch(() => undefined);',
		'	for (const state of record.stages) {',
		'		const part = async <T>(read: Promise<T | null>): Promise<T | null> =>',
		'			read.catch((error: unknown) => {',
		'			});',
		'		if (withRun.has(path)) {',
		'		}',
		'	};',
		'}',
		'/**',
		' */',
		'function languageOf(recipe: unknown): Language | null {',
		'}',
	],
];

describe('a module in TypeScript', () => {
	for (const [i, lines] of rejected.entries()) {
		it(`can contain async arrow functions with type parameters, and keeps its positions (${i + 1})`, async (context) => {
			const text = [...lines, 'export class Game {', '	move(by: number) {}', '}', ''].join('\n');
			const module = (await moduleOf(context, text))();
			const found = module.classNamed('Game');
			assert.equal(found?.node.loc?.start.line, lines.length + 1);
			assert.match(found === null ? '' : module.textOf(found.node), /^class Game \{\n\tmove\(by: number\)/);
		});
	}

	it('that is not valid is rejected with the position of the error in the original text', async (context) => {
		const open = await moduleOf(
			context,
			'const one = async <T>(x: T) => x;\nexport class Game {\n\tmove(by: ) {}\n}\n',
		);
		assert.throws(open, (error: unknown) => {
			assert.ok(error instanceof SyntaxError);
			assert.equal((error as { loc?: { line: number } }).loc?.line, 3);
			return true;
		});
	});
});
