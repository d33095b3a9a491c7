import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { recipeSchemaText } from '../../../scripts/recipeSchema.ts';

interface Schema {
	description?: string;
	default?: unknown;
	properties?: Record<string, Schema>;
	additionalProperties?: boolean;
	items?: Schema | Schema[];
	anyOf?: Schema[];
	oneOf?: Schema[];
	definitions?: Record<string, Schema>;
}

const text = readFileSync(new URL('../../../../media/schemas/recipe.schema.json', import.meta.url), 'utf8');
const schema: Schema = JSON.parse(text);

function* objects(node: Schema, path: string): Generator<[string, Schema]> {
	if (node.properties) yield [path, node];
	for (const [key, child] of Object.entries(node.properties ?? {})) yield* objects(child, `${path}.${key}`);
	const inner = [node.anyOf ?? [], node.oneOf ?? [], node.items ?? [], Object.values(node.definitions ?? {})];
	for (const child of inner.flat()) yield* objects(child, path);
}

describe('media/schemas/recipe.schema.json', () => {
	it('is up to date (written by node test/scripts/writeSchema.ts)', () => {
		assert.equal(text, recipeSchemaText());
	});

	it('describes every key and allows no others', () => {
		let keys = 0;
		for (const [path, node] of objects(schema, '')) {
			assert.equal(node.additionalProperties, false, path);
			for (const [key, child] of Object.entries(node.properties ?? {})) {
				keys++;
				// A custom template's tags are explained by their own error message.
				if (key === 'think' || (key === 'answer' && node.properties?.think)) continue;
				assert.ok(child.description, `${path}.${key}`);
			}
		}
		assert.ok(keys > 70, `${keys}`);
	});

	it('contains the defaults stated in the descriptions', () => {
		let checked = 0;
		for (const [path, node] of objects(schema, '')) {
			for (const [key, child] of Object.entries(node.properties ?? {})) {
				const named = /\(default "?([\w.-]+)[";),: ]/.exec(child.description ?? '')?.[1];
				if (named === undefined || child.default === undefined || typeof child.default === 'object') continue;
				assert.equal(
					String(child.default),
					String(Number.isNaN(Number(named)) ? named : Number(named)),
					`${path}.${key}`,
				);
				checked++;
			}
		}
		assert.ok(checked > 20, `${checked}`);
	});
});
