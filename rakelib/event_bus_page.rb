# frozen_string_literal: true

# docs/internals/event_bus.md: the publishers and subscribers of each event in lib/skep/swarm.
module EventBusPage
  PATH = File.expand_path("../docs/internals/event_bus.md", __dir__)
  LIB = File.expand_path("../lib/skep/swarm", __dir__)
  PUBLISHES = /\b(?:announce|publish)\(\s*([^,()]*:[a-z]\w+[^,()]*)/
  SUBSCRIBES = /\bsubscribe\(((?:\*?[:A-Z]\w+(?:,\s*)?)+)\)/
  LISTS = /([A-Z]\w+) = %i\[([\w ]+)\]/
  private_constant :LIB, :PUBLISHES, :SUBSCRIBES, :LISTS

  module_function

  def text
    <<~HEAD + rows.join
      # Event bus

      `rake event_bus` writes this page from the code. `Runtime::EventBus` is synchronous: when `publish` returns, every subscriber has run. Subscribers to all events run before the subscribers to this one event.
      It carries facts that components only observe. What must happen in a certain order is a call.

      A published event also goes to the log and to users' blocks ([all events](../reference/events.md)). The table lists the events to which a component of the supervisor subscribes.
      An announced fact (*internal*) reaches only these subscribers.

      | event | published in | subscribers |
      |---|---|---|
    HEAD
  end

  def rows
    subscribed.sort.map do |name, files|
      internal = sources.any? { |_, text| text.match?(/announce\(:#{name}\b/) }
      row = ["`#{name}`#{" (internal)" if internal}", links(published[name].to_a), links(files)]
      "| #{row.join(" | ")} |\n"
    end
  end

  def published
    @published ||= by_name { |text| text.scan(PUBLISHES).flatten.flat_map { |part| names(part) } }
  end

  def subscribed
    @subscribed ||= by_name do |text|
      lists = text.scan(LISTS).to_h
      text.scan(SUBSCRIBES).flatten.flat_map do |part|
        names(part) + part.scan(/\*([A-Z]\w+)/).flatten.flat_map { |list| lists.fetch(list).split }
      end
    end
  end

  def by_name
    sources.each_with_object({}) do |(file, text), all|
      yield(text).uniq.each { |name| (all[name] ||= []) << file }
    end
  end

  def names(part) = part.scan(/(?<![:\w]):([a-z]\w+)/).flatten

  # Without comments.
  def sources
    @sources ||= Dir["#{LIB}/**/*.rb"].sort.to_h do |file|
      [file.delete_prefix("#{LIB}/"), File.readlines(file, encoding: "UTF-8").grep_v(/\A\s*#/).join]
    end
  end

  def links(files) = files.map { |file| "`#{file}`" }.join(", ")
end
