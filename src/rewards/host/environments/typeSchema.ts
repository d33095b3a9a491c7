import { type Declared, nameOf, type TypedModule, type TypedNode } from './typedModule.ts';

/** A JSON schema in the format of `transformers.utils.get_json_schema` (5.18), which trainers use. */
export type JsonSchema = { [key: string]: unknown };

/** Thrown if a tool cannot be described to a model. */
export class SchemaFault extends Error {
	readonly kind: 'docstring' | 'types';

	constructor(kind: SchemaFault['kind'], message: string) {
		super(message);
		this.kind = kind;
	}
}

/** Result of reading a type. */
export interface TypeReading {
	readonly schema: JsonSchema;
	/** Whether the type includes undefined. */
	readonly optional: boolean;
}

const keywords: Readonly<Record<string, JsonSchema>> = {
	TSNumberKeyword: { type: 'number' },
	TSStringKeyword: { type: 'string' },
	TSBooleanKeyword: { type: 'boolean' },
	TSNullKeyword: { type: 'null' },
	TSVoidKeyword: { type: 'null' },
	TSObjectKeyword: { type: 'object' },
	TSTypeLiteral: { type: 'object' },
	TSInterfaceDeclaration: { type: 'object' },
	TSAnyKeyword: {},
	TSUnknownKeyword: {},
};
const maxDepth = 20;

/**
 * Derives the JSON schema for a type. An alias named `integer` produces the type `integer`, as in
 * typescript-json-schema (`type integer = number`), because TypeScript has no integer type. Throws the text of the part
 * that has no schema.
 */
export function readType(node: TypedNode, module: TypedModule): TypeReading {
	const members = membersOf({ node, module }, 0);
	const present = members.filter((member) => member.node.type !== 'TSUndefinedKeyword');
	const nullable = present.length > 1 && present.some((member) => member.node.type === 'TSNullKeyword');
	const rest = nullable ? present.filter((member) => member.node.type !== 'TSNullKeyword') : present;
	const schema = rest.length === 0 ? { type: 'null' } : unionOf(rest);
	return { schema: nullable ? { ...schema, nullable: true } : schema, optional: present.length < members.length };
}

/** Thrown by `readType`. */
export class NoSchema extends Error {}

function refuse({ node, module }: Declared): never {
	throw new NoSchema(module.textOf(node).slice(0, 80));
}

/** Flattens unions, parentheses and aliases. */
function membersOf({ node, module }: Declared, depth: number): Declared[] {
	if (depth > maxDepth) refuse({ node, module });
	switch (node.type) {
		case 'TSUnionType':
			return (node.types as TypedNode[]).flatMap((one) => membersOf({ node: one, module }, depth + 1));
		case 'TSParenthesizedType':
			return membersOf({ node: node.typeAnnotation as TypedNode, module }, depth + 1);
		case 'TSTypeOperator':
			if (node.operator === 'readonly') return membersOf({ node: node.typeAnnotation as TypedNode, module }, depth + 1);
			return [{ node, module }];
		case 'TSTypeReference': {
			const [inner] = argumentsOf(node);
			const name = nameOf(node.typeName);
			if (inner && (name === 'Promise' || name === 'Readonly')) {
				return membersOf({ node: inner, module }, depth + 1);
			}
			const alias = name === null || name === 'integer' ? null : module.typeNamed(name);
			if (alias?.node.type !== 'TSTypeAliasDeclaration' || alias.node.typeParameters) return [{ node, module }];
			return membersOf({ node: alias.node.typeAnnotation as TypedNode, module: alias.module }, depth + 1);
		}
		default:
			return [{ node, module }];
	}
}

function unionOf(members: readonly Declared[]): JsonSchema {
	const values = members.map(literalOf);
	if (values.every((value) => value !== undefined)) {
		const types = [...new Set(values.map((value) => (Number.isInteger(value) ? 'integer' : typeof value)))];
		return { type: types.length === 1 ? types[0] : types, enum: values };
	}
	const schemas = members.map(single);
	if (schemas.length === 1) return schemas[0] as JsonSchema;
	if (schemas.every((one) => Object.keys(one).length === 1 && typeof one.type === 'string')) {
		const types = [...new Set(schemas.map(({ type }) => type as string))].sort();
		return { type: types.length === 1 ? types[0] : types };
	}
	return { anyOf: schemas };
}

function literalOf({ node }: Declared): string | number | boolean | undefined {
	if (node.type !== 'TSLiteralType') return undefined;
	const literal = node.literal as TypedNode;
	const negative = literal.type === 'UnaryExpression' && literal.operator === '-';
	const { value } = (negative ? literal.argument : literal) as { value?: unknown };
	if (negative) return typeof value === 'number' ? -value : undefined;
	return ['string', 'number', 'boolean'].includes(typeof value) ? (value as string | number | boolean) : undefined;
}

function single(declared: Declared): JsonSchema {
	const { node, module } = declared;
	const known = keywords[node.type];
	if (known !== undefined) return { ...known };
	switch (node.type) {
		case 'TSLiteralType':
			return literalOf(declared) === undefined ? refuse(declared) : unionOf([declared]);
		case 'TSArrayType':
			return { type: 'array', items: inner(node.elementType, module) };
		case 'TSTupleType':
			return { type: 'array', prefixItems: (node.elementTypes as TypedNode[]).map((one) => element(one, module)) };
		case 'TSTypeReference':
			return reference(declared);
		default:
			return refuse(declared);
	}
}

function inner(node: unknown, module: TypedModule): JsonSchema {
	return readType(node as TypedNode, module).schema;
}

function element(node: TypedNode, module: TypedModule): JsonSchema {
	if (node.type === 'TSNamedTupleMember' && !node.optional) return inner(node.elementType, module);
	if (node.type === 'TSRestType' || node.type === 'TSOptionalType') refuse({ node, module });
	return inner(node, module);
}

function reference(declared: Declared): JsonSchema {
	const { node, module } = declared;
	const name = nameOf(node.typeName);
	const [first, second] = argumentsOf(node);
	if (name === 'integer') return { type: 'integer' };
	if (first && (name === 'Array' || name === 'ReadonlyArray')) return { type: 'array', items: inner(first, module) };
	if (second && name === 'Record') return { type: 'object', additionalProperties: inner(second, module) };
	if (name !== null && module.typeNamed(name)?.node.type === 'TSInterfaceDeclaration') return { type: 'object' };
	return refuse(declared);
}

function argumentsOf(node: TypedNode): TypedNode[] {
	return (node.typeArguments as { params?: TypedNode[] } | undefined)?.params ?? [];
}
