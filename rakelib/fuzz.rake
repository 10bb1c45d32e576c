# frozen_string_literal: true

def handler_fuzz(*arguments)
  sh RbConfig.ruby, "-r./test/load_path", "skep-kafka/test/kafka/fuzz/command.rb",
     *arguments.map(&:to_s)
end

desc "Run so many random Kafka handlers, 10,000 by default"
task(:fuzz, %i[seeds first] => :compile) do |_, given|
  handler_fuzz("seeds", given.fetch(:seeds, 10_000), given.fetch(:first, 1))
end

desc "Run one random Kafka handler, and reduce it if it breaks a rule"
task("fuzz:seed", [:seed] => :compile) { |_, given| handler_fuzz("seed", given.fetch(:seed)) }

desc "Plant bugs in what becomes of a batch: random handlers must find each"
task("fuzz:mutations", [:name] => :compile) do |_, given|
  handler_fuzz("mutations", *given.to_a)
end
