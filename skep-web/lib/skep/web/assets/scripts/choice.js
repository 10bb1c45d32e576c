// What the visitor has chosen: the swarm, and how its tables are sorted and filtered. It is in the
// address's fragment, so that a link shows the same to others, and a login keeps it:
//
//   #billing?partitions=orders&partitions-sort=-lag&times=utc

const parts = () => {
  const [name, query = ""] = location.hash.slice(1).split("?", 2)
  return [name, new URLSearchParams(query)]
}

// Returns undefined for a name that can't be read.
export function chosenSwarm() {
  try { return decodeURIComponent(parts()[0]) } catch { return undefined }
}

export const chosen = (name) => parts()[1].get(name) ?? ""

// Doesn't add to the browser's history: it changes with every key that is pressed in a filter.
export function choose(name, value) {
  const [swarm, query] = parts()
  value ? query.set(name, value) : query.delete(name)
  const text = query.toString()
  history.replaceState(null, "", `${location.pathname}${location.search}#${swarm}${text && `?${text}`}`)
  dispatchEvent(new Event("choice"))
}

// The address of another swarm, with times in the same zone.
export const linkTo = (swarm) =>
  `${location.pathname}#${encodeURIComponent(swarm)}${chosen("times") && `?times=${chosen("times")}`}`
