type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Returns a copy without the keys whose value is undefined. */
export function given<T extends object>(values: T): Given<T> {
	return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Given<T>;
}

/** Returns the given values merged over the defaults. */
export function filled<D extends object, G extends object>(defaults: D, values: G | undefined): D & Required<G> {
	return { ...defaults, ...given(values ?? {}) } as D & Required<G>;
}
