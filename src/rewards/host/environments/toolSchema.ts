import type { ToolSchema } from '../../../protocol/environmentHost.ts';
import { parseJsDoc } from './jsDoc.ts';
import { type Declared, nameOf, type TypedNode } from './typedModule.ts';
import { type JsonSchema, NoSchema, readType, SchemaFault, type TypeReading } from './typeSchema.ts';

/** Names of a method's parameters, or null if one of them has no name. */
export function parameterNames({ node }: Declared): string[] | null {
	const names = parametersOf(node).map((one) => nameOf(one.type === 'AssignmentPattern' ? one.left : one));
	return names.every((name) => name !== null) ? names : null;
}

/**
 * Derives a tool's JSON schema from its types and JSDoc comment. The result equals what src/rewards/python derives from
 * the same tool in Python. Throws SchemaFault.
 */
export function toolSchema(name: string, method: Declared): ToolSchema {
	const { node, module } = method;
	const comment = module.docOf(node);
	const doc = comment === null ? null : parseJsDoc(comment);
	if (doc === null || doc.description === '') {
		throw new SchemaFault('docstring', `${name} has no JSDoc description, so the model cannot know what it does`);
	}
	const properties: Record<string, JsonSchema> = {};
	const required: string[] = [];
	for (const parameter of parametersOf(node)) {
		const { argument, reading } = readParameter(name, parameter, method);
		const described = doc.parameters.get(argument);
		if (described === undefined) {
			throw new SchemaFault('docstring', `${name} does not describe its argument ${argument} with @param`);
		}
		properties[argument] = { ...reading.schema, description: described };
		if (!reading.optional) required.push(argument);
	}
	const returned = annotationOf(functionOf(node), 'returnType');
	const result = returned === null ? null : read(returned, method, `${name}: the type of the result`).schema;
	return {
		name,
		description: doc.description,
		parameters: { type: 'object', properties, ...(required.length === 0 ? {} : { required }) },
		...(result === null ? {} : { return: doc.returns === null ? result : { ...result, description: doc.returns } }),
	};
}

function readParameter(name: string, parameter: TypedNode, method: Declared) {
	const hasDefault = parameter.type === 'AssignmentPattern';
	const target = (hasDefault ? parameter.left : parameter) as TypedNode;
	const argument = nameOf(target);
	if (argument === null) {
		throw new SchemaFault('types', `${name} must declare its arguments one by one, without patterns or "..."`);
	}
	const annotation = annotationOf(target, 'typeAnnotation');
	const reading =
		annotation === null
			? readDefault(name, argument, hasDefault ? (parameter.right as TypedNode) : null)
			: read(annotation, method, `${name}: the type of its argument ${argument}`);
	return { argument, reading: { ...reading, optional: reading.optional || hasDefault || target.optional === true } };
}

/** Returns the type of an unannotated parameter, inferred from its default. */
function readDefault(name: string, argument: string, value: TypedNode | null): TypeReading {
	const type = value?.type === 'Literal' ? typeof value.value : '';
	if (!['string', 'number', 'boolean'].includes(type)) {
		throw new SchemaFault('types', `${name} does not declare the type of its argument ${argument}`);
	}
	return { schema: { type }, optional: true };
}

function read(annotation: TypedNode, { module }: Declared, what: string): TypeReading {
	try {
		return readType(annotation, module);
	} catch (error) {
		if (!(error instanceof NoSchema)) throw error;
		const advice = 'use numbers, strings, booleans, literals, lists or Record<string, ...>';
		throw new SchemaFault('types', `${what}, ${error.message}, has no JSON schema; ${advice}`);
	}
}

function functionOf(node: TypedNode): TypedNode {
	return (node.value as TypedNode | undefined) ?? node;
}

function parametersOf(node: TypedNode): TypedNode[] {
	return (functionOf(node).params as TypedNode[] | undefined) ?? [];
}

function annotationOf(node: TypedNode, key: string): TypedNode | null {
	return ((node[key] as { typeAnnotation?: TypedNode } | undefined)?.typeAnnotation ?? null) as TypedNode | null;
}
