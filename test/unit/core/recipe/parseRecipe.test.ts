import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { parseRecipe, recipeOrThrow } from '../../../../src/core/recipe/parseRecipe.ts';

const good = `{
	// A comment, and trailing commas.
	"name": "addition",
	"dataset": { "task": "addition", "digits": 3 },
	"model": { "layers": 4, "width": 128, "heads": 4 },
	"stages": [
		{ "type": "sft", "steps": 180, "learning_rate": 1e-3 },
		{ "type": "grpo", "steps": 400, "learning_rate": 1e-4, "beta": 0.0, },
	],
}`;

/** Returns line, column, path and message of each error after a replacement in the valid recipe. */
function faultsOf(from: string, to: string): [number, number, string, string][] {
	assert.ok(good.includes(from), from);
	const parsed = parseRecipe(good.replace(from, to));
	assert.ok(!parsed.ok);
	return parsed.faults.map(({ line, column, path, message }) => [line, column, path, message]);
}

describe('a recipe', () => {
	it('can have comments and trailing commas', () => {
		const parsed = parseRecipe(good);
		assert.ok(parsed.ok);
		assert.equal(parsed.recipe.name, 'addition');
		assert.equal(parsed.recipe.seed, 1);
		assert.equal(parsed.recipe.template, 'r1');
	});

	const cases: [what: string, from: string, to: string, expected: [number, number, string, RegExp]][] = [
		[
			'a misspelled key',
			'"beta": 0.0',
			'"betas": 0',
			[8, 58, 'stages[1].betas', /"betas" is not a valid key: did you mean "beta"\?/],
		],
		[
			'an unknown key',
			'"heads": 4',
			'"heads": 4, "zzz": 1',
			[5, 52, 'model.zzz', /"zzz" is not a valid key: .*valid keys: layers, width/],
		],
		[
			"another trainer's name for a key",
			'"steps": 400',
			'"steps": 400, "max_new_tokens": 9',
			[8, 35, 'stages[1].max_new_tokens', /did you mean "max_completion_length"\?/],
		],
		['a misspelled required key', '"steps": 180', '"step": 180', [7, 20, 'stages[0].step', /did you mean "steps"\?/]],
		['a missing key', '"steps": 180, ', '', [7, 3, 'stages[0]', /Entry 1 of "stages" is missing "steps"\. Add it/]],
		[
			'a value of the wrong type',
			'"digits": 3',
			'"digits": "3"',
			[4, 35, 'dataset.digits', /"digits" must be a whole number, not "3"/],
		],
		[
			'a number out of range',
			'"layers": 4',
			'"layers": 0',
			[5, 13, 'model.layers', /"layers" must be at least 1, not 0/],
		],
		[
			'an invalid choice',
			'"task": "addition"',
			'"task": "adition"',
			[4, 15, 'dataset.task', /"task" must be one of "addition", .* not "adition"/],
		],
		[
			'an invalid stage type',
			'"type": "sft"',
			'"type": "pdo"',
			[7, 5, 'stages[0].type', /must be a stage of type .*"sft", "grpo", .*, not "pdo": did you mean/],
		],
		[
			'a dataset that is not an object',
			'{ "task": "addition", "digits": 3 }',
			'3',
			[4, 2, 'dataset', /"dataset" must be {"task": ...}, {"path": ...} or {"preset": ...}, not 3/],
		],
		[
			'an empty dataset',
			'{ "task": "addition", "digits": 3 }',
			'{}',
			[4, 2, 'dataset', /"dataset" must be {"task": ...}, {"path": ...} or {"preset": ...}/],
		],
		['a duplicate key', '"heads": 4', '"heads": 4, "heads": 2', [5, 52, 'model.heads', /Duplicate key "heads"/]],
		[
			'a prototype key',
			'"heads": 4',
			'"heads": 4, "__proto__": {}',
			[5, 52, 'model.__proto__', /"__proto__" is not a valid key/],
		],
		[
			'a width that is not a multiple of the heads',
			'"width": 128',
			'"width": 130',
			[5, 26, 'model.width', /"width" 130 is not a multiple of "heads" 4\. Choose 128 or 132/],
		],
		[
			'a batch that cannot be divided among its updates',
			'"beta": 0.0',
			'"steps_per_generation": 3',
			[8, 58, 'stages[1].steps_per_generation', /does not divide the 16 groups .* divisor of 16/],
		],
		[
			'a context that is too short',
			'"heads": 4',
			'"heads": 4, "context": 20',
			[5, 52, 'model.context', /"context" 20 is too short: .* raise it to 49/],
		],
		[
			'a model that is too large',
			'"layers": 4, "width": 128',
			'"layers": 48, "width": 4096',
			[5, 2, 'model', /about 9665 million parameters,.* Lower "width" or "layers"/],
		],
		[
			'a setting of another task',
			'"digits": 3',
			'"modulus": 3',
			[4, 2, 'dataset', /"addition" has no setting "modulus"/],
		],
		['a name that is a path', '"addition",', '"../x",', [3, 2, 'name', /"name" is not a valid folder name/]],
		[
			'a warm-up longer than its stage',
			'"beta": 0.0',
			'"warmup_steps": 500',
			[8, 58, 'stages[1].warmup_steps', /"warmup_steps" 500 is greater than "steps" 400/],
		],
		[
			'an enormous batch',
			'"beta": 0.0',
			'"prompts_per_step": 65536',
			[8, 58, 'stages[1].prompts_per_step', /524288 completions per batch/],
		],
		['a syntax error', '"digits": 3', '"digits" 3', [4, 44, '', /Expected a colon/]],
	];
	for (const [what, from, to, [line, column, path, message]] of cases) {
		it(`reports ${what} with its location`, () => {
			const faults = faultsOf(from, to);
			assert.equal(faults.length, 1, JSON.stringify(faults));
			assert.deepEqual(faults[0]?.slice(0, 3), [line, column, path]);
			assert.match(faults[0]?.[3] ?? '', message);
			assert.match(faults[0]?.[3] ?? '', /[.?]$/);
		});
	}

	it('reports all errors together, in text order', () => {
		const parsed = parseRecipe(
			good.replace('"layers": 4', '"layers": "x", "a": 1').replace('"beta": 0.0', '"beta": -1, "gamma": 1'),
		);
		assert.ok(!parsed.ok);
		assert.deepEqual(
			parsed.faults.map((fault) => fault.path),
			['model.layers', 'model.a', 'stages[1].beta', 'stages[1].gamma'],
		);
	});

	it('is rejected without crashing if it is not a recipe', () => {
		for (const text of [
			'',
			' \n',
			'[]',
			'3',
			'null',
			'"x"',
			'{',
			'}',
			'{"a"',
			'[[['.repeat(30_000),
			'/*',
			'{"name": "\\',
			'x'.repeat(2_000_000),
			'\u0000',
		]) {
			const parsed = parseRecipe(text);
			assert.ok(!parsed.ok && parsed.faults.length > 0, text.slice(0, 10));
			for (const fault of parsed.faults) {
				assert.ok(fault.message.length > 0 && fault.line >= 1 && fault.column >= 1);
				assert.ok(fault.offset >= 0 && fault.offset + fault.length <= text.length + 1);
			}
		}
	});

	it('has an error message with file, line and column', () => {
		assert.throws(
			() => recipeOrThrow(good.replace('"digits": 3', '"digits": 0'), 'my.recipe.json'),
			(error) =>
				error instanceof Failure &&
				error.reason === 'invalid' &&
				error.message === 'my.recipe.json, line 4, column 35: "digits" must be at least 1, not 0.',
		);
	});
});
