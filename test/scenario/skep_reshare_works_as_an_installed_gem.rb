# frozen_string_literal: true

# skep and skep-reshare are built and installed as gems into an empty GEM_HOME. Without the second
# the option `reshare` is refused in one sentence; with it a swarm's heap is shared, at the first
# boot and at the second, when the mold's Ruby is given the gem before the swarm's file. Once it is
# uninstalled the sentence is the same, whatever the last boot left in the run directory.
require_relative "scenario"
require_relative "support/new_user"

SWARM = <<~RUBY
  early = Skep.const_defined?(:Reshare)
  Skep.swarm "shared", nodes: 1, restart: :never, reshare: true do |swarm|
    swarm.work do |_node|
      puts "early: \#{early}, shared: \#{Skep::Reshare::HeapPageSlab.shared_bytes.positive?}"
    end
  end
RUBY
REFUSED = "skep: swarm.rb: reshare needs the gem skep-reshare, which isn't installed: " \
          "add it to the Gemfile"

def refuse(typist)
  %w[check run].each do |command|
    said = typist.type("skep #{command} swarm.rb 2>&1 || echo ended with $?")
    must("refuse it, not:\n#{said}") { said.end_with?("#{REFUSED}\nended with 78\n") }
  end
end

Scenario.play do
  user = NewUser.new(directory)
  at_end { user.close }
  builder, typist = user.builder, user.typist
  user.write("swarm.rb", SWARM)
  install = lambda do |gem|
    builder.type("(cd #{gem} && gem build #{gem}.gemspec -o ../#{gem}.gem)")
    builder.type("gem install --local --no-document #{gem}.gem")
  end
  install.call("skep")
  refuse(typist)
  install.call("skep-reshare")
  [false, true].each do |early|
    said = typist.type("skep run swarm.rb")
    must("share the heap, not:\n#{said}") { said.include?("early: #{early}, shared: true\n") }
  end
  typist.type("gem uninstall skep-reshare")
  refuse(typist)
end
