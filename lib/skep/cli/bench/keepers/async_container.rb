# frozen_string_literal: true

# async-container's controller with forked children that start again. A child whose health is
# checked has to say now and then that it is ready.
require "async/container"
require_relative "errand"

PULSE = 0.25 # seconds between a child's signs of health

class Controller < Async::Container::Controller
  def create_container = Async::Container::Forked.new

  def setup(container)
    container.run(count: Errand.count, restart: true, **Errand.options) do |instance|
      Errand.begin
      instance.ready!
      Errand.options.empty? ? Errand.work : beat(instance)
    end
  end

  def beat(instance)
    loop do
      Errand.idle(PULSE)
      instance.ready!
    end
  end
end

Errand.preload
Controller.new.run
