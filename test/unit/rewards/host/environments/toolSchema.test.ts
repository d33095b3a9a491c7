import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { ToolSchema } from '../../../../../src/protocol/environmentHost.ts';
import { argumentFault } from '../../../../../src/rewards/host/environments/argumentFault.ts';
import { EnvironmentSource } from '../../../../../src/rewards/host/environments/environmentSource.ts';
import { pythonText } from '../../../../../src/rewards/host/environments/pythonText.ts';
import { summarizeState } from '../../../../../src/rewards/host/environments/stateSummary.ts';
import { toolSchema } from '../../../../../src/rewards/host/environments/toolSchema.ts';
import { TypedModule } from '../../../../../src/rewards/host/environments/typedModule.ts';
import { SchemaFault } from '../../../../../src/rewards/host/environments/typeSchema.ts';
import { root } from '../../../../scripts/paths.ts';
import { rewardFolder } from '../../hostFixtures.ts';

const folder = await rewardFolder();
await writeFile(
	join(folder, 'shared.ts'),
	"export type Direction = 'up' | 'down';\nexport interface Place { x: number }\nexport * from './again.ts';\n",
);
await writeFile(
	join(folder, 'again.ts'),
	"import type { Direction as D } from './shared.ts';\nexport type Way = D | null;\n",
);

/** Returns the schema of a tool with a parameter of the given type. */
async function schemaOf(parameters: string, doc = 'Does it.\n * @param x An x.', result = ''): Promise<ToolSchema> {
	const file = join(folder, 'made.env.ts');
	const text = [
		"import type { Direction, Place, Way } from './shared.ts';",
		'type integer = number;',
		'type Choice = Direction | "left";',
		'type Circle = Circle | string;',
		`export class Made { reset() {} \n/** ${doc} */\n tool(${parameters})${result} {} }`,
	];
	await writeFile(file, text.join('\n'));
	const method = EnvironmentSource.of(new TypedModule(file), 'Made')?.method('tool');
	assert.ok(method);
	return toolSchema('tool', method);
}

describe('the JSON schema of a tool in TypeScript', () => {
	// test/trainer/python/test_environments.py checks that trainers accept these schemas.
	const types = JSON.parse(readFileSync(join(root, 'test/fixtures/environments/typeSchemas.json'), 'utf8'));
	for (const [type, schema] of types as [string, object][]) {
		it(`of ${type}`, async () => {
			const { parameters } = await schemaOf(`x: ${type}`);
			assert.deepEqual(parameters, {
				...{ type: 'object', properties: { x: { ...schema, description: 'An x.' } }, required: ['x'] },
			});
		});
	}

	it('does not require arguments that are optional or have a default', async () => {
		const doc =
			'Does it.\n * @param x - An x.\n * @param {number} y A y,\n *   on two lines.\n * @param [z=1] A z.\n * @returns Nothing.';
		const schema = await schemaOf('x = 5, y?: number, z: integer | undefined = 1', doc, ': Promise<string>');
		assert.deepEqual(schema, {
			name: 'tool',
			description: 'Does it.',
			parameters: {
				type: 'object',
				properties: {
					x: { type: 'number', description: 'An x.' },
					y: { type: 'number', description: 'A y, on two lines.' },
					z: { type: 'integer', description: 'A z.' },
				},
			},
			return: { type: 'string', description: 'Nothing.' },
		});
	});

	const faults: readonly [string, string, RegExp][] = [
		['x', 'types', /does not declare the type of its argument x/],
		['x = []', 'types', /does not declare the type of its argument x/],
		['{ x }: Place', 'types', /one by one/],
		['...x: number[]', 'types', /one by one/],
		['x: Circle', 'types', /has no JSON schema/],
		['x: Date', 'types', /the type of its argument x, Date, has no JSON schema; use/],
		['x: () => void', 'types', /\(\) => void, has no JSON schema/],
		['x: number, y: number', 'docstring', /does not describe its argument y with @param/],
	];
	for (const [parameters, kind, message] of faults) {
		it(`cannot be created for (${parameters})`, async () => {
			await assert.rejects(schemaOf(parameters), (error: unknown) => {
				assert.ok(error instanceof SchemaFault, String(error));
				assert.equal(error.kind, kind);
				assert.match(error.message, message);
				return true;
			});
		});
	}
});

describe('arguments of a call', () => {
	const schema = (properties: ToolSchema['parameters']['properties'], required?: string[]): ToolSchema => {
		return { name: 'f', description: '', parameters: { type: 'object', properties, ...(required && { required }) } };
	};
	const cases: readonly [object, unknown, string | null][] = [
		[{ type: 'integer' }, 3, null],
		[{ type: 'integer' }, 3.5, 'x must be an integer, not 3.5'],
		[{ type: ['integer', 'string'] }, true, 'x must be an integer or a string, not the boolean true'],
		[{ type: 'string', nullable: true }, null, null],
		[{ type: 'string', enum: ['a', 'b'] }, 'c', 'x must be one of "a", "b", not the string "c"'],
		[{ type: 'array', items: { type: 'number' } }, [1, '2'], 'x[1] must be a number, not the string "2"'],
		[{ type: 'array', prefixItems: [{}, {}] }, [1], 'x must have 2 elements, not 1'],
		[{ type: 'object', additionalProperties: { type: 'number' } }, { a: null }, 'x["a"] must be a number, not null'],
		[{ anyOf: [{ type: 'number' }, { type: 'array' }] }, [], null],
		[
			{},
			JSON.parse('[{"__proto__": {"won": true}}]'),
			'The arguments of f contain the key "__proto__", or are nested too deeply',
		],
	];
	for (const [property, value, fault] of cases) {
		it(`${JSON.stringify(property)} and ${JSON.stringify(value)}`, () => {
			assert.equal(argumentFault('Made', schema({ x: { ...property } }), { x: value }), fault);
		});
	}

	it('are named as in Python if they are missing or unknown', () => {
		const three = schema({ a: {}, b: {}, c: {} }, ['a', 'b', 'c']);
		assert.equal(argumentFault('M', three, {}), "M.f() missing 3 required positional arguments: 'a', 'b', and 'c'");
		assert.equal(argumentFault('M', three, { a: 1, b: 2 }), "M.f() missing 1 required positional argument: 'c'");
		assert.equal(argumentFault('M', three, { toString: 1 }), "M.f() got an unexpected keyword argument 'toString'");
	});
});

it('text is quoted as in Python', () => {
	// Computed with repr in Python 3.12.
	const cases: readonly [string, string][] = [
		["it's", `"it's"`],
		[`it's "so"`, `'it\\'s "so"'`],
		['a\n\t\\\u0007\u00a0é\u2028🙂', `'a\\n\\t\\\\\\x07\\xa0é\\u2028🙂'`],
	];
	for (const [text, expected] of cases) assert.equal(pythonText(text), expected);
});

it('a state is summarized within limits', () => {
	const circle: Record<string, unknown> = { list: Array.from({ length: 100 }, (_, i) => i), f: () => 1, no: undefined };
	circle.self = circle;
	Object.defineProperty(circle, 'bad', { enumerable: true, get: () => assert.fail() });
	const odd = {
		big: 1n << 70n,
		nan: Number.NaN,
		set: new Set([3, 1]),
		map: new Map([[1, { a: 1 }]]),
		bytes: new Uint8Array(9),
	};
	const summary = summarizeState({ ...odd, circle, text: 'x'.repeat(1000) });
	assert.deepEqual(
		{ ...summary, circle: null, text: null },
		{
			...{
				big: '1180591620717411303424',
				nan: 'NaN',
				set: [1, 3],
				map: { 1: { a: 1 } },
				bytes: '(Uint8Array of 9 bytes)',
			},
			...{ circle: null, text: null },
		},
	);
	assert.ok(JSON.stringify(summary).length < 4000, JSON.stringify(summary));
	assert.match(JSON.stringify(summary), /"bad":"\(unreadable\)"/);
});
