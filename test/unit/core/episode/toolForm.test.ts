import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type FieldInput, formArguments, formFields, formInputs } from '../../../../src/core/episode/toolForm.ts';
import type { ToolSchema } from '../../../../src/protocol/environmentHost.ts';

type Property = ToolSchema['parameters']['properties'][string];

const schemaOf = (properties: Record<string, Property>, required = Object.keys(properties)): ToolSchema => ({
	name: 'tool',
	description: '',
	parameters: { type: 'object', properties, required },
});
const value = (text: string): FieldInput => ({ given: 'value', text });

/** Returns the argument that a text represents, or why the text is invalid. */
function read(property: Property, input: FieldInput, required = true): unknown {
	const fields = formFields(schemaOf({ it: property }, required ? ['it'] : []));
	const result = formArguments(fields, { it: input });
	return result.ok ? result.arguments : result.faults.it;
}

describe('the form of a tool', () => {
	it('has a field for every type that trainers use', () => {
		const fields = formFields(
			schemaOf(
				{
					text: { type: 'string', description: 'Some text.' },
					count: { type: 'integer' },
					share: { type: 'number' },
					fast: { type: 'boolean' },
					color: { type: 'string', enum: ['red', 'blue'] },
					only: { const: 4 },
					words: { type: 'array', items: { type: 'string' } },
					options: { type: 'object' },
					several: { type: ['integer', 'string'] },
					maybe: { type: 'integer', nullable: true },
					listed: { type: ['string', 'null'] },
					either: { anyOf: [{ type: 'number' }, { type: 'null' }] },
					anything: {},
				},
				['text', 'count'],
			),
		);
		assert.deepEqual(
			fields.map(({ name, kind, type, nullable }) => [name, kind, type, nullable]),
			[
				['text', 'text', 'string', false],
				['count', 'integer', 'integer', false],
				['share', 'number', 'number', false],
				['fast', 'boolean', 'boolean', false],
				['color', 'choice', 'choice', false],
				['only', 'choice', 'choice', false],
				['words', 'json', 'list of string', false],
				['options', 'json', 'object', false],
				['several', 'json', 'integer or string', false],
				['maybe', 'integer', 'integer or null', true],
				['listed', 'text', 'string or null', true],
				['either', 'number', 'number or null', true],
				['anything', 'json', 'any', false],
			],
		);
		assert.deepEqual(
			fields.slice(0, 3).map(({ required, initial }) => [required, initial.given]),
			[
				[true, 'value'],
				[true, 'value'],
				[false, 'omitted'],
			],
		);
	});

	it('reads what was entered', () => {
		assert.deepEqual(read({ type: 'string' }, value('')), { it: '' });
		assert.deepEqual(read({ type: 'integer' }, value(' -12 ')), { it: -12 });
		assert.deepEqual(read({ type: 'number' }, value('1e3')), { it: 1000 });
		assert.deepEqual(read({ type: 'boolean' }, value('true')), { it: true });
		assert.deepEqual(read({ enum: ['a', 2] }, value('1')), { it: 2 });
		assert.deepEqual(read({ type: 'array' }, value('[1, {"a": null}]')), { it: [1, { a: null }] });
		assert.deepEqual(read({ type: 'integer', nullable: true }, { given: 'null', text: 'x' }), { it: null });
		assert.deepEqual(read({ type: 'integer' }, { given: 'omitted', text: 'x' }, false), {});
	});

	it('reports what is wrong with a field', () => {
		assert.equal(read({ type: 'integer' }, value('1.5')), 'Enter an integer.');
		assert.equal(read({ type: 'integer' }, value('99999999999999999')), 'Enter an integer of at most 15 digits.');
		assert.equal(read({ type: 'number' }, value('')), 'Enter a number.');
		assert.equal(read({ type: 'number' }, value('Infinity')), 'Enter a number.');
		assert.equal(read({ type: 'array' }, value('')), 'Enter JSON.');
		assert.match(String(read({ type: 'array' }, value('[1,'))), /^Invalid JSON: /);
		assert.equal(read({ type: 'array' }, value('{}')), 'Enter a JSON list: [ … ]');
		assert.equal(read({ type: 'object' }, value('[]')), 'Enter a JSON object: { … }');
	});

	it('can be filled in from a call that it can represent', () => {
		const fields = formFields(
			schemaOf({ a: { type: 'integer', nullable: true }, b: { enum: ['x', 'y'] }, c: { type: 'array' } }, ['a', 'b']),
		);
		const call = { a: null, b: 'y', c: [1] };
		const inputs = formInputs(fields, call);
		assert.ok(inputs);
		assert.deepEqual(formArguments(fields, inputs), { ok: true, arguments: call });
		for (const other of [{ a: 1, b: 'z' }, { a: '1', b: 'x' }, { a: 1, b: 'x', d: 2 }, [1], null, '{"a": ']) {
			assert.equal(formInputs(fields, other), null, JSON.stringify(other));
		}
	});

	it('accepts arguments with any name', () => {
		const fields = formFields(
			schemaOf(JSON.parse('{"__proto__": {"type": "string"}, "constructor": {"type": "integer"}}')),
		);
		const result = formArguments(fields, { constructor: value('3') });
		assert.ok(result.ok);
		assert.deepEqual(Object.entries(result.arguments), [
			['__proto__', ''],
			['constructor', 3],
		]);
	});
});
