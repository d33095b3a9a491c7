const shared: readonly (readonly [name: string, object: object])[] = [
	['Object.prototype', Object.prototype],
	['Array.prototype', Array.prototype],
	['Function.prototype', Function.prototype],
	['String.prototype', String.prototype],
	['Number.prototype', Number.prototype],
];

/** The properties of a prototype. */
class Snapshot {
	readonly #object: object;
	readonly #properties: PropertyDescriptorMap;
	/** Methods; accessors (`__proto__`) are not compared. */
	readonly #methods: readonly (readonly [key: PropertyKey, value: unknown])[];
	readonly #count: number;

	constructor(object: object) {
		this.#object = object;
		this.#properties = Object.getOwnPropertyDescriptors(object);
		const keys = Reflect.ownKeys(object);
		this.#count = keys.length;
		this.#methods = keys.flatMap((key) => {
			const property = Object.getOwnPropertyDescriptor(object, key);
			return property !== undefined && 'value' in property && key !== 'length' ? [[key, property.value]] : [];
		});
	}

	/** Undoes changes. Returns a property that was changed, or null. Unchanged objects, the usual case, take microseconds. */
	restore(): PropertyKey | null {
		const object = this.#object as Record<PropertyKey, unknown>;
		const changed = this.#methods.find(([key, value]) => object[key] !== value)?.[0] ?? null;
		const keys = changed === null && Reflect.ownKeys(object).length === this.#count ? [] : Reflect.ownKeys(object);
		const added = keys.filter((key) => !Object.hasOwn(this.#properties, key));
		for (const key of added) Reflect.deleteProperty(object, key);
		if (keys.length > 0) Object.defineProperties(object, this.#properties);
		return changed ?? added[0] ?? null;
	}
}

/**
 * Detects changes to built-in prototypes, which all instances in a process share: a property set there by one episode
 * would be visible to all others. Changes while the file is loaded are allowed.
 */
export class SharedBuiltIns {
	readonly #snapshots = shared.map(([name, object]) => ({ name, snapshot: new Snapshot(object) }));

	/** Restores all prototypes. Returns the name of a property that was changed, such as "Object.prototype.level", or null. */
	restore(): string | null {
		let changed: string | null = null;
		for (const { name, snapshot } of this.#snapshots) {
			const key = snapshot.restore();
			if (key !== null) changed ??= `${name}.${String(key)}`;
		}
		return changed;
	}
}
