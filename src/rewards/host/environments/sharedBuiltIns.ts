const shared: readonly (readonly [name: string, object: object])[] = [
	['Object.prototype', Object.prototype],
	['Array.prototype', Array.prototype],
	['Function.prototype', Function.prototype],
	['String.prototype', String.prototype],
	['Number.prototype', Number.prototype],
];

/**
 * Detects changes to built-in prototypes, which all instances in a process share: an attribute set there by one episode
 * is part of every other one. Changes while the file is loaded are allowed.
 */
export class SharedBuiltIns {
	readonly #before = shared.map(([, object]) => Object.getOwnPropertyDescriptors(object) as PropertyDescriptorMap);

	/** Restores all prototypes. Returns the name of a property that was changed, such as "Object.prototype.level", or null. */
	restore(): string | null {
		let changed: string | null = null;
		for (const [i, [name, object]] of shared.entries()) {
			const before = this.#before[i] as PropertyDescriptorMap;
			for (const key of Reflect.ownKeys(object)) {
				const was = Object.getOwnPropertyDescriptor(before, key)?.value as PropertyDescriptor | undefined;
				const is = Object.getOwnPropertyDescriptor(object, key) as PropertyDescriptor;
				if (was !== undefined && was.value === is.value && was.get === is.get) continue;
				changed ??= `${name}.${String(key)}`;
				if (was === undefined) Reflect.deleteProperty(object, key);
				else Reflect.defineProperty(object, key, was);
			}
		}
		return changed;
	}
}
