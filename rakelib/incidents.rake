# frozen_string_literal: true

desc "Plant each incident, or watch quiet minutes, and see what the status says of them"
task(:incidents, %i[kind count seed] => :compile) do |_, given|
  kind = given.fetch(:kind, "all")
  what = [kind, given.fetch(:count, kind == "quiet" ? 10 : 1), given.fetch(:seed, 1)]
  sh RbConfig.ruby, "-r./test/load_path", "skep-kafka/test/kafka/incidents/command.rb",
     *what.map(&:to_s)
end
